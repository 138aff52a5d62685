/** Modules that the tests import with small bounds: see bounds.json. */
declare module '*?bounds'
