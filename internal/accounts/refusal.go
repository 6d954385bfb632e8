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
type Refusal string

// The refusals. Each is its text for the player.
const (
	ErrMalformed          Refusal = "the request is malformed"
	ErrThrottled          Refusal = "too many failed attempts, try again later"
	ErrBanned             Refusal = "the account is banned"
	ErrBadEmail           Refusal = "the e-mail is not known or not valid"
	ErrBadPassword        Refusal = "the password is wrong or not valid"
	ErrBadProfile         Refusal = "the account has no such profile"
	ErrProfileDeleted     Refusal = "the profile was deleted"
	ErrBadUniqueNick      Refusal = "the unique nick is not known" // in that namespace, see NamespaceError
	ErrBadToken           Refusal = "the token is not valid"
	ErrBadTicket          Refusal = "the login ticket is not valid"
	ErrExpiredTicket      Refusal = "the login ticket is expired"
	ErrBadNick            Refusal = "the nick is not allowed"
	ErrNickTaken          Refusal = "the account has a profile with that nick" // see NickTakenError
	ErrNoOldNick          Refusal = "the account has no profile with the nick to be replaced"
	ErrUniqueNickIllegal  Refusal = "the unique nick is not allowed"
	ErrUniqueNickReserved Refusal = "the unique nick is reserved"
	ErrUniqueNickTaken    Refusal = "the unique nick is taken"
	ErrBadNamespace       Refusal = "the namespace has no unique nicks"
	ErrEmailTaken         Refusal = "the e-mail is taken"
	ErrBadField           Refusal = "a value is not allowed"
	ErrTooMany            Refusal = "there are too many already" // profiles of the account, or names of the profile
	ErrLastProfile        Refusal = "the only profile of an account cannot be deleted"
	ErrBadCDKey           Refusal = "the CD key is not valid"
	ErrCDKeySet           Refusal = "the profile has another CD key" // for that game
	ErrCDKeyTaken         Refusal = "the CD key belongs to another profile"
	ErrNotKept            Refusal = "the password itself is not kept"   // and the proof needs it
	ErrCDKeyNotKept       Refusal = "the CD key itself is not kept"     // and the proof needs it
	ErrBadReset           Refusal = "the reset link is no longer valid" // unknown, used, ended or expired
)

// Error returns a text that may be shown to a player.
func (r Refusal) Error() string { return string(r) }

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
