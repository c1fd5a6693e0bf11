/** Preloaded into a program that is started with `--expose-gc`, it collects garbage every second. The memory
 *  of the process is then what the program holds, and not what V8 has not yet collected. */
const { gc } = globalThis as { gc?: () => void }
if (gc === undefined) throw new Error('start the program with --expose-gc')
setInterval(gc, 1_000).unref()
