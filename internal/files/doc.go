// Package files keeps the files that players upload: their contents in a folder, and
// the descriptions in the store.
//
// A content is stored once under its SHA-256, however many files have it. Nothing
// that a player sends is ever part of a path. The order of writing makes a killed
// process harmless: a content is on the disk, under its name, before the file that
// needs it exists, and it is removed only after the last such file. What a killed
// process leaves behind belongs to no file, and [Table.Sweep] removes it.
//
// The package knows no protocol and does not decide who may upload.
package files
