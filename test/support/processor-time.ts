/** Starts to measure the processor time of this process. The result of the returned function is in
 *  milliseconds. Unlike the time of a clock, it does not grow while other processes use the machine, so a
 *  test can set a limit on it. */
export function processorTimer(): () => number {
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
}
