// Package operator defines the operations of an operator on the daemon: bans, games,
// rooms, accounts, servers, sessions, backups, and reading its state.
//
// [Operator] is the interface. [Local] implements it on the store, with or without
// a running daemon; the client in package admin implements it over the API of the
// running daemon. The package has no command line and serves no HTTP.
//
// # Audit log
//
// Each change is recorded in the store with its [Actor], in the same transaction as
// the change where that is one transaction. The log also holds the changes of players on the pages
// of package web.
package operator
