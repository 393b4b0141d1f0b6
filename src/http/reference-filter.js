// The filter of the reference page: hides what has none of the typed words. Without it the page is whole.
const field = document.querySelector('.filter')
const input = field?.querySelector('input')
const none = document.querySelector('.none')
const entries = [...document.querySelectorAll('li[data-for]')].map((link) => {
  const article = document.getElementById(link.dataset.for)
  return { link, article, text: article.textContent.toLowerCase() }
})
const groups = [...document.querySelectorAll('nav section, main section.tag')]

function filter() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
  let shown = 0
  for (const { link, article, text } of entries) {
    const hidden = !words.every((word) => text.includes(word))
    link.hidden = hidden
    article.hidden = hidden
    if (!hidden) shown++
  }
  for (const group of groups) {
    const members = [...group.querySelectorAll('li[data-for], article')]
    group.hidden = members.length > 0 && members.every((member) => member.hidden)
  }
  none.hidden = shown > 0
}

field.hidden = false
input.addEventListener('input', filter)
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target === input) return
  event.preventDefault()
  input.focus()
})
