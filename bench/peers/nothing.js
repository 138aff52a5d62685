// No tracking at all: the ceiling.
export const start = () => ({ use() {} })
