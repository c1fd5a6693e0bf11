const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `15 Dec`, in the time zone of whoever reads. */
export function dayAndMonth(date: Date): string {
  return `${date.getDate()} ${months[date.getMonth()]}`
}
