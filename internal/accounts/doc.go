// Package accounts implements the rules of accounts: which names are allowed,
// how a login is proved, and how secrets are kept. The presence and search
// services, the account pages and the operator's commands all use it.
//
// Records are kept by package storage, sessions by internal/presence, bans of
// addresses by internal/bans. Of the wire formats this package knows only the
// formula of the login proof.
//
// # Secrets
//
// The login proof of the original clients is keyed with the MD5 of the
// password, so the server must be able to read that digest, and anyone who
// reads it can log in. It is sealed with AES-256-GCM; see package seal for the
// layout. The key lies in a file of its own outside the store, mode 0600, so
// that a copy of the store alone reveals no digest. [Service.RotateKey]
// replaces the key. With Options.KeepPasswords the password itself is sealed
// beside it, because the proof of the statistics service needs it, and so are CD
// keys. An account that has only the digest gets it at the next sign-in that sends
// the password. A client that sends the password itself is
// checked against the same sealed value.
//
// # Proof
//
//	secret   = md5hex(password)
//	response = md5hex(secret, 48 spaces, user, client challenge, server challenge, secret)
//	proof    = md5hex(secret, 48 spaces, user, server challenge, client challenge, secret)
//
// user is the unique nick or nick@e-mail as the client spelt it, after the
// partner code and an @ if that code is not 0. For an auth token the secret is
// made of the challenge that was issued with the token, and user is the token.
// For a login ticket the secret is that of an empty password, user is the
// ticket in the response and an @ for an empty nick and e-mail in the proof.
//
// # Failures
//
// Failed logins are counted by account and address together, and by address.
// Over the limit a login is refused without checking the password. An account
// with many failures, from any addresses, lets strangers try one password per
// second. Strangers are the addresses that never signed in to it, so that
// guessing cannot lock the owner out at home. The addresses that did sign in
// are stored with the account, as marks that reveal nothing without the key
// file; without them a restart would make the owner a stranger.
//
// # Names
//
// E-mails are unique under their partner code, nicks in their account, unique
// nicks in their namespace, all without regard to the case of ASCII letters.
// Unique nicks that differ only in special characters are the same unless the
// namespace says otherwise. No name may be a key word of the protocol, because
// clients would take it for one.
package accounts
