// Where the console begins.
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { followHistory } from './state/navigation.tsx'
import { applyTheme } from './state/theme.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/controls.css'
import './styles/shell.css'
import './styles/data.css'
import './styles/words.css'
import './styles/workbench.css'
import './styles/fleet.css'
import './styles/insight.css'
import './styles/charts.css'
import './styles/folds.css'
import './styles/targets.css'
import './styles/traces.css'
import './styles/palette.css'

applyTheme()
followHistory()
const root = document.getElementById('root')
if (!root) throw new Error('the page has no root')
createRoot(root).render(<App />)
