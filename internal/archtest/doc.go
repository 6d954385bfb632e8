// Package archtest holds tests about the shape of the module: which package may
// import which, what every file must keep to, and that the README tells what is
// built.
//
// It has no code of its own, nothing imports it, and it tests no behaviour; that
// is done beside the code.
package archtest
