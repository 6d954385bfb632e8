package accounts

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/storage"
)

// Refusal is the reason why a request of a player was refused; it can be shown
// to the player. Any other error is a fault of the server. A refusal quotes
// nothing of the request.
type Refusal uint8

// The refusals.
const (
	ErrMalformed          Refusal = iota + 1 // ErrMalformed: the request makes no sense.
	ErrThrottled                             // ErrThrottled: too many failures from that address; try again later.
	ErrBanned                                // ErrBanned: the account is banned.
	ErrBadEmail                              // ErrBadEmail: no account has that e-mail, or it is not a valid one.
	ErrBadPassword                           // ErrBadPassword: the password is wrong or not allowed.
	ErrBadProfile                            // ErrBadProfile: the account has no such nick.
	ErrProfileDeleted                        // ErrProfileDeleted: the profile is gone.
	ErrBadUniqueNick                         // ErrBadUniqueNick: no profile has that unique nick in that namespace.
	ErrBadToken                              // ErrBadToken: the token is unknown or expired.
	ErrBadTicket                             // ErrBadTicket: no such login ticket.
	ErrExpiredTicket                         // ErrExpiredTicket: the login ticket is too old.
	ErrBadNick                               // ErrBadNick: the nick is against the rules.
	ErrNickTaken                             // ErrNickTaken: the account has that nick already; see NickTakenError.
	ErrNoOldNick                             // ErrNoOldNick: the account has no nick to be replaced.
	ErrUniqueNickIllegal                     // ErrUniqueNickIllegal: the unique nick is against the rules.
	ErrUniqueNickReserved                    // ErrUniqueNickReserved: the unique nick is a reserved word.
	ErrUniqueNickTaken                       // ErrUniqueNickTaken: another profile has that unique nick.
	ErrBadNamespace                          // ErrBadNamespace: the namespace has no unique nicks.
	ErrEmailTaken                            // ErrEmailTaken: another account has that e-mail.
	ErrBadField                              // ErrBadField: a value of a profile is against the rules.
	ErrTooMany                               // ErrTooMany: the account has as many profiles, or the profile as many names, as it may have.
	ErrLastProfile                           // ErrLastProfile: the only profile of an account cannot be deleted.
	ErrBadCDKey                              // ErrBadCDKey: the text is not a CD key.
	ErrCDKeySet                              // ErrCDKeySet: the profile has another CD key for that game.
	ErrCDKeyTaken                            // ErrCDKeyTaken: another profile has that CD key.
	ErrNotKept                               // ErrNotKept: only the digest of the password is kept, and the proof needs the password itself.
	ErrCDKeyNotKept                          // ErrCDKeyNotKept: only the digest of the CD key is kept, and the proof needs the CD key itself.
	ErrBadReset                              // ErrBadReset: the reset link is unknown, used, ended, or expired.
)

// Error returns a text that may be shown to a player.
func (r Refusal) Error() string {
	if text, ok := refusalTexts(r); ok {
		return text
	}
	return fmt.Sprintf("refused (%d)", uint8(r))
}

// refusalTexts returns the text of r.
func refusalTexts(r Refusal) (string, bool) {
	texts := [...]string{
		ErrMalformed:          "the request is malformed",
		ErrThrottled:          "too many failed attempts, try again later",
		ErrBanned:             "the account is banned",
		ErrBadEmail:           "the e-mail is not known or not valid",
		ErrBadPassword:        "the password is wrong or not valid",
		ErrBadProfile:         "the account has no such profile",
		ErrProfileDeleted:     "the profile was deleted",
		ErrBadUniqueNick:      "the unique nick is not known",
		ErrBadToken:           "the token is not valid",
		ErrBadTicket:          "the login ticket is not valid",
		ErrExpiredTicket:      "the login ticket is expired",
		ErrBadNick:            "the nick is not allowed",
		ErrNickTaken:          "the account has a profile with that nick",
		ErrNoOldNick:          "the account has no profile with the nick to be replaced",
		ErrUniqueNickIllegal:  "the unique nick is not allowed",
		ErrUniqueNickReserved: "the unique nick is reserved",
		ErrUniqueNickTaken:    "the unique nick is taken",
		ErrBadNamespace:       "the namespace has no unique nicks",
		ErrEmailTaken:         "the e-mail is taken",
		ErrBadField:           "a value is not allowed",
		ErrTooMany:            "there are too many already",
		ErrLastProfile:        "the only profile of an account cannot be deleted",
		ErrBadCDKey:           "the CD key is not valid",
		ErrCDKeySet:           "the profile has another CD key",
		ErrCDKeyTaken:         "the CD key belongs to another profile",
		ErrNotKept:            "the password itself is not kept",
		ErrCDKeyNotKept:       "the CD key itself is not kept",
		ErrBadReset:           "the reset link is no longer valid",
	}
	if int(r) < len(texts) && texts[r] != "" {
		return texts[r], true
	}
	return "", false
}

// NamespaceError is ErrBadUniqueNick for a unique nick that other namespaces have.
type NamespaceError struct {
	Namespace int   // of the sign-in
	Others    []int // that have the nick, in ascending order, at least one
}

// Error returns the text of ErrBadUniqueNick.
func (e *NamespaceError) Error() string { return ErrBadUniqueNick.Error() }

// Unwrap returns ErrBadUniqueNick.
func (e *NamespaceError) Unwrap() error { return ErrBadUniqueNick }

// Detail returns the namespaces in words, for operators.
func (e *NamespaceError) Detail() string {
	list := make([]string, len(e.Others))
	for i, n := range e.Others {
		list[i] = strconv.Itoa(n)
	}
	return fmt.Sprintf("the game signs in with namespace %d, the nick is in namespace %s", e.Namespace, strings.Join(list, " and "))
}

// NickTakenError is ErrNickTaken with the profile that has the nick.
type NickTakenError struct {
	Profile storage.ProfileID
}

// Error returns the text of ErrNickTaken.
func (e *NickTakenError) Error() string { return ErrNickTaken.Error() }

// Unwrap returns ErrNickTaken.
func (e *NickTakenError) Unwrap() error { return ErrNickTaken }
