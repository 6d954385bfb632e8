// Package archtest holds tests of the module's structure: which package may
// import which, the rules for every file, and that the README lists the
// services that are built.
//
// It has no code of its own and nothing imports it. Behaviour is tested beside
// the code.
package archtest
