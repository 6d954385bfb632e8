package account

import (
	"errors"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clean"
)

// latin1 returns a text of a form as games would have sent it: one byte per
// character, in the code page of western systems. ok is false if it has
// characters that they cannot send, or that cannot be seen.
func latin1(text string) (out string, ok bool) {
	b := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xFF || clean.IsHidden(r) {
			return "", false
		}
		b = append(b, byte(r))
	}
	return string(b), true
}

// What the pages of accounts say when something is done, by the word in their
// address. Other words say nothing.
func doneText(word string) string {
	switch word {
	case "registered":
		return "The account is made. Sign in with the same e-mail address and password in your games."
	case "asked":
		return "If that e-mail address was free, its account is made now, and you can log in. If it was not, nothing was changed."
	case "password":
		return "The password is changed. Games that were signed in have to sign in again."
	case "email":
		return "The e-mail address is changed. Use it from now on to sign in."
	case "nick":
		return "The profile is made."
	case "renamed":
		return "The nick is changed."
	case "uniquenick":
		return "The unique nick is changed."
	case "dropped":
		return "The profile is deleted."
	case "deleted":
		return "The account is deleted."
	case "out":
		return "You are logged out."
	}
	return ""
}

// Problems that the pages of accounts tell.
const (
	problemLogin     = "The e-mail address or the password is wrong."
	problemPassword  = "The password is wrong."
	problemThrottled = "There were too many failed attempts from your address. Try again in ten minutes."
	problemQuota     = "That is too much at once. Wait a minute and try again."
	problemRepeat    = "The two passwords are not the same."
	problemLetters   = "Games can only send letters, digits and signs of western keyboards."
	problemLength    = "A password has 1 to 30 characters: games have no room for more."
	problemEmailUsed = "This e-mail address cannot be used."
	problemEnded     = "You were logged out meanwhile. Log in again."
	problemBanned    = "This account is banned. Ask the operator."
	problemSure      = "Tick the box to say that you are sure."
)

// problemText says why something was refused. ok is false if the error is a
// fault of ours.
func problemText(err error) (text string, ok bool) {
	r, ok := errors.AsType[accounts.Refusal](err)
	if !ok {
		return "", false
	}
	switch r {
	case accounts.ErrThrottled:
		return problemThrottled, true
	case accounts.ErrBanned:
		return problemBanned, true
	case accounts.ErrBadPassword:
		return problemPassword, true
	case accounts.ErrBadEmail:
		return "This is not an e-mail address that games can use.", true
	case accounts.ErrEmailTaken:
		return problemEmailUsed, true
	case accounts.ErrBadNick:
		return "A nick has 1 to 30 characters, no backslash, and is not a word of the protocol.", true
	case accounts.ErrNickTaken:
		return "Your account has a profile with that nick already.", true
	case accounts.ErrUniqueNickIllegal:
		return "A unique nick has 3 to 20 characters without spaces, begins with a letter, and has no comma, quote or backslash.", true
	case accounts.ErrUniqueNickReserved:
		return "That unique nick is reserved.", true
	case accounts.ErrUniqueNickTaken:
		return "Somebody has that unique nick, or one like it.", true
	case accounts.ErrLastProfile:
		return "An account keeps at least one profile. Delete the account instead.", true
	case accounts.ErrTooMany:
		return "There are too many already.", true
	case accounts.ErrBadNamespace:
		return "A namespace is a number from 1 on.", true
	case accounts.ErrBadProfile, accounts.ErrProfileDeleted, accounts.ErrNoOldNick:
		return "That profile is gone.", true
	default:
		return "That is not possible: " + r.Error() + ".", true
	}
}
