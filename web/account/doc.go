// Package account is the pages on which players look after their accounts: log in,
// register, change, delete, and set a password with a reset link.
//
// The rules are those of internal/accounts: an account made here signs in with
// games, and the other way round. Text of forms is turned into the bytes that games
// send, one per character. A session is kept by package web/session; the cookie is
// Secure and bound to the host where the public URL is https. It ends with another
// password, a ban, two idle hours or a day.
//
// A form changes something only if it carries the token that belongs to the
// browser's cookie and comes from our own origin. Forms are bounded in size, by
// address and by account; failed passwords count as those of games do. With
// Options.Private, and wherever mail is sent, no answer reports whether an e-mail has an account:
// a mail tells its owner that another could not be made. Without both, making an account or
// moving one there reports it, and both are rationed. Changes are in the audit log of the store, with
// the number and a nick of the account and the address it came from, in the same step as the
// change.
//
// A visitor who forgot the password can ask for a mail with a reset link, if mail is
// configured. The request is only queued, so that neither the answer nor its time
// reveals whether there is an account; the links are built from the public URL alone.
// Mails are limited by mailbox, by network and in total (mailquota.go). Only sent mails
// count: a request that causes no mail uses up nothing.
//
// It is not for operators (package admin).
package account
