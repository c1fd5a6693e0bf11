/** The script of an exported page: a box that finds messages. The page is complete without it. The content
 *  security policy allows only this text. */
export const pageScript = `
const box = document.querySelector('.find')
const input = box.querySelector('input')
const count = box.querySelector('output')
const articles = [...document.querySelectorAll('article')]
box.classList.remove('hidden')
input.addEventListener('input', () => {
  const wanted = input.value.trim().toLowerCase()
  let found = 0
  for (const article of articles) {
    const isFound = wanted === '' || article.textContent.toLowerCase().includes(wanted)
    article.classList.toggle('hidden', !isFound)
    if (isFound) found++
    for (const part of article.querySelectorAll('details'))
      part.open = wanted !== '' && part.textContent.toLowerCase().includes(wanted)
  }
  count.textContent = wanted === '' ? '' : found + (found === 1 ? ' message' : ' messages')
})
input.addEventListener('keydown', event => {
  if (event.key !== 'Escape') return
  input.value = ''
  input.dispatchEvent(new Event('input'))
})
addEventListener('keydown', event => {
  if (event.key !== '/' || event.target === input) return
  event.preventDefault()
  input.focus()
})
`
