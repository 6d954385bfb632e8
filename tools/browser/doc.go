// Package browser tests the pages of respawnd in a real browser: the built
// program runs on loopback, and Chromium is driven over its DevTools protocol. It
// is a module of its own, so that the library for that is none of respawnd's.
//
// Every page is looked at by day and by night, at six widths from a phone to a large desk. Nothing that can be
// used is cut, nothing is written to the browser's console as an error, fields have labels, text stands out from its
// ground, what can be clicked is reached with the keyboard and shows that it is, and nothing sticks out at the side.
// Where npm ci has installed axe-core, that looks at each width too. Pages for players are also looked at in three
// other languages. Pictures are left in the folder artefacts.
//
// Without Chromium the tests are skipped, but not where CI is set.
package browser
