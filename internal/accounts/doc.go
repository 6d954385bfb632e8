// Package accounts implements the rules of accounts: which names are allowed,
// how a login is proved, and how secrets are kept. Presence, search and later web
// services and the operator's commands all go through it.
//
// It is not where accounts are kept (package storage), knows no wire format but
// the formula of the login proof, and does not know who is signed in
// (internal/presence). Addresses are banned elsewhere (internal/bans).
//
// # Secrets
//
// The login proof of the original clients is keyed with the MD5 of the
// password, so the server must have that at hand, and a reader of it can log in.
// It is sealed with AES-256-GCM; see seal.go for the layout. The key lies in a
// file of its own outside the store, mode 0600, so that a copy of the store
// alone is worth nothing, and a copy of the store without that file neither.
// [Service.RotateKey] replaces the key. The password itself is not kept unless
// Options say so. A client that sends the password itself is checked against the
// same sealed value.
//
// # Proof
//
//	secret   = md5hex(password)
//	response = md5hex(secret, 48 spaces, user, client challenge, server challenge, secret)
//	proof    = md5hex(secret, 48 spaces, user, server challenge, client challenge, secret)
//
// user is the unique nick or nick@e-mail as the client spelt it, behind the
// partner code and an @ if that is not 0. For an auth token the secret is made
// of the challenge that was issued with the token, and user is the token. For a
// login ticket the secret is that of an empty password, user is the ticket in
// the response and an @ for an empty nick and e-mail in the proof.
//
// # Failures
//
// Failed logins are counted by account and address together, and by address.
// What is over the limit is refused without a look at the password. An account
// with many failures, from wherever they come, lets strangers try one password
// per second. Strangers are the addresses that never signed in to it, so no guesser
// can lock its owner out at home. The addresses that did are kept with the
// account, as marks that tell nothing without the key file: if a restart forgot
// them, one who keeps guessing would lock the owner out from then on.
//
// # Names
//
// E-mails are unique under their partner code, nicks in their account, unique
// nicks in their namespace, all without regard to the case of ASCII letters.
// Unique nicks that differ only in special characters are the same unless the
// namespace says otherwise. No name may be a key word of the protocol, because
// clients would take it for one.
package accounts
