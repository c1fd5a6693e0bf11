/** Waits for `work`, for at most `ms`. Leaves no timer behind that would keep the process alive. */
export function atMost(ms: number, work: Promise<void>): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    void work.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
