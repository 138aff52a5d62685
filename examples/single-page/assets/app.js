// Shows the page of the address. A link changes the address and loads nothing.
const main = document.querySelector('main')

const PAGES = {
  '/': 'Bread and soup.',
  '/recipes/bread': 'Flour, water, salt, and time.',
  '/recipes/soup': 'Whatever is left, and water.',
}

function show() {
  main.textContent = PAGES[location.pathname] ?? 'There is no such recipe.'
}

document.querySelector('nav').addEventListener('click', (event) => {
  const { pathname } = event.target
  if (pathname === undefined || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  history.pushState({}, '', pathname)
  show()
})

addEventListener('popstate', show)
show()
