// Package files keeps the files that players upload: the descriptions in the store, and
// their contents in a folder or, if several nodes use the store, in it too.
//
// A content is stored once under its SHA-256, however many files have it. Nothing
// that a player sends is ever part of a path. The order of writing makes a killed
// process harmless: a content is on the disk, under its hash, before the file that
// needs it exists, and it is removed only after the last such file. Leftovers of a killed process
// belong to no file, and [Table.Sweep] removes it.
//
// The package knows no protocol and does not decide who may upload.
package files
