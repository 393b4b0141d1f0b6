// The title of the window: how many things need attention, the page, the product. A tab that is not looked at shows it.
let [title, urgent] = ['', 0]

const write = () => {
  document.title = `${urgent > 0 ? `(${urgent}) ` : ''}${title} · Switchyard`
}

export function titleWindow(of_page: string): void {
  title = of_page
  write()
}

export function countInTitle(things: number): void {
  urgent = things
  if (title !== '') write()
}
