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

// doneText returns what the pages say after a change, by the word in their
// address; empty for other words.
func doneText(word string) string {
	switch word {
	case "asked":
		return "If that e-mail address was free, the account was created and you can log in. Otherwise nothing was changed."
	case "password":
		return "The password was changed. Games that were signed in have to sign in again."
	case "email":
		return "The e-mail address was changed. From now on, sign in with it."
	case "nick":
		return "The profile was added."
	case "renamed":
		return "The nick was changed."
	case "uniquenick":
		return "The unique nick was changed."
	case "dropped":
		return "The profile was deleted."
	case "deleted":
		return "The account was deleted."
	case "out":
		return "You are logged out."
	}
	return ""
}

// Problems that the pages show.
const (
	problemLogin     = "The e-mail address or the password is wrong."
	problemPassword  = "The password is wrong."
	problemThrottled = "There were too many failed attempts from your address. Try again in ten minutes."
	problemQuota     = "Too many changes at once. Wait a minute and try again."
	problemRepeat    = "The two passwords are not the same."
	problemLetters   = "Use letters, digits and signs of western keyboards: games cannot send others."
	problemLength    = "A password has 1 to 30 characters: games allow no more."
	problemEmailUsed = "This e-mail address cannot be used."
	problemEnded     = "You were logged out meanwhile. Log in again."
	problemBanned    = "This account is banned. Ask the operator."
	problemSure      = "Tick the box to confirm."
)

// problemText returns why something was refused. ok is false if the error is a
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
		return "A nick has 1 to 30 characters, no backslash, and is not a reserved word.", true
	case accounts.ErrNickTaken:
		return "Your account has a profile with that nick already.", true
	case accounts.ErrUniqueNickIllegal:
		return "A unique nick has 3 to 20 characters without spaces, begins with a letter, and has no comma, quote or backslash.", true
	case accounts.ErrUniqueNickReserved:
		return "That unique nick is reserved.", true
	case accounts.ErrUniqueNickTaken:
		return "That unique nick, or one like it, is taken.", true
	case accounts.ErrLastProfile:
		return "An account keeps at least one profile. Delete the account instead.", true
	case accounts.ErrTooMany:
		return "Your account cannot have more.", true
	case accounts.ErrBadNamespace:
		return "A namespace is a number from 1 on.", true
	case accounts.ErrBadProfile, accounts.ErrProfileDeleted, accounts.ErrNoOldNick:
		return "That profile does not exist any more.", true
	default:
		return "That is not possible: " + r.Error() + ".", true
	}
}
