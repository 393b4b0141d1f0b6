// Light, dark, or as the system says.
import { setTheme, THEMES, type Theme, useTheme } from '../state/theme.ts'

const NAMES: Record<Theme, string> = { system: 'Auto', light: 'Light', dark: 'Dark' }

export function ThemeSwitch() {
  const theme = useTheme()
  return (
    <fieldset className="theme-switch">
      <legend className="visually-hidden">Colours</legend>
      {THEMES.map((one) => (
        <label key={one}>
          <input type="radio" name="theme" checked={theme === one} onChange={() => setTheme(one)} />
          <span>{NAMES[one]}</span>
        </label>
      ))}
    </fieldset>
  )
}
