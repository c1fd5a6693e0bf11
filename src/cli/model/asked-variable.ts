/** Set in the environment of an agent that does a task of `ask`. `skein mcp` offers it no tools, so that it
 *  cannot give tasks to itself. */
export const askedVariable = 'SKEIN_ASKED'
