package account

import (
	"errors"
	"net/http"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/lang"
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

// doneTexts are the confirmations of changes, by their key in the URL.
var doneTexts = map[string]string{
	"asked":        lang.Key("If that e-mail address was free, the account was created and you can log in. Otherwise nothing was changed."),
	"mailed-owner": lang.Key("If that e-mail address was free, the account was created and you can log in. Otherwise nothing was changed, and a mail to it says so."),
	"password":     lang.Key("The password was changed. Games that were signed in have to sign in again."),
	"reset":        lang.Key("The password was changed. Log in with it. Games that were signed in have to sign in again."),
	"mailed":       lang.Key("If there is an account with that e-mail address, a mail with a link is on its way. It can take some minutes; look among unwanted mail, too."),
	"email":        lang.Key("The e-mail address was changed. From now on, sign in with it."),
	"nick":         lang.Key("The profile was added."),
	"renamed":      lang.Key("The nick was changed."),
	"uniquenick":   lang.Key("The unique nick was changed."),
	"dropped":      lang.Key("The profile was deleted."),
	"deleted":      lang.Key("The account was deleted."),
	"out":          lang.Key("You are logged out."),
}

// problem is the reason for which a form was refused, as text for the visitor.
type problem string

// Error implements error.
func (p problem) Error() string { return string(p) }

var (
	problemLogin     = lang.Key[problem]("The e-mail address or the password is wrong.")
	problemPassword  = lang.Key[problem]("The password is wrong.")
	problemThrottled = lang.Key[problem]("There were too many failed attempts from your address. Try again in ten minutes.")
	problemQuota     = lang.Key[problem]("Too many changes at once. Wait a minute and try again.")
	problemMails     = lang.Key[problem]("Your address asked for too many mails. Try again in an hour.")
	problemRepeat    = lang.Key[problem]("The two passwords are not the same.")
	problemLetters   = lang.Key[problem]("Use letters, digits and signs of western keyboards: games cannot send others.")
	problemLength    = lang.Key[problem]("A password has 1 to 30 characters: games allow no more.")
	problemGame      = lang.Key[problem]("This site does not know a game of that name. Its short name stands on its page.")
	problemNumbers   = lang.Key[problem]("Partner code and namespace are numbers.")
	problemEmailUsed = lang.Key[problem]("This e-mail address cannot be used.")
	problemExists    = lang.Key[problem]("There is an account with that e-mail address, with another password.")
	problemProfile   = lang.Key[problem]("That profile does not exist.")
	problemSure      = lang.Key[problem]("Tick the box to confirm.")
)

// problems are those of refusals.
var problems = map[accounts.Refusal]problem{
	accounts.ErrThrottled:          problemThrottled,
	accounts.ErrBanned:             lang.Key[problem]("This account is banned. Ask the operator."),
	accounts.ErrBadPassword:        problemPassword,
	accounts.ErrBadEmail:           lang.Key[problem]("This is not an e-mail address that games can use."),
	accounts.ErrEmailTaken:         problemEmailUsed,
	accounts.ErrBadNick:            lang.Key[problem]("A nick has 1 to 30 characters, no backslash, and is not a reserved word."),
	accounts.ErrNickTaken:          lang.Key[problem]("Your account has a profile with that nick already."),
	accounts.ErrUniqueNickIllegal:  lang.Key[problem]("A unique nick has 3 to 20 characters without spaces, begins with a letter, and has no comma, quote or backslash."),
	accounts.ErrUniqueNickReserved: lang.Key[problem]("That unique nick is reserved."),
	accounts.ErrUniqueNickTaken:    lang.Key[problem]("That unique nick, or one like it, is taken."),
	accounts.ErrLastProfile:        lang.Key[problem]("An account keeps at least one profile. Delete the account instead."),
	accounts.ErrTooMany:            lang.Key[problem]("Your account cannot have more."),
	accounts.ErrBadNamespace:       lang.Key[problem]("A namespace is a number from 1 on."),
	accounts.ErrBadProfile:         problemProfile,
	accounts.ErrProfileDeleted:     problemProfile,
	accounts.ErrNoOldNick:          problemProfile,
	accounts.ErrBadReset:           lang.Key[problem]("This link is not valid: it was used, the password was changed, a newer one was made, or it is older than a day. Ask for a new one."),
}

// problemOf returns the problem for an error, and the status to answer with: 0
// if the error is a fault of the server.
func problemOf(err error) (p problem, status int) {
	if r, ok := errors.AsType[accounts.Refusal](err); ok {
		if p, ok = problems[r]; !ok {
			p = problem("That is not possible: " + r.Error() + ".")
		}
	} else if p, ok = errors.AsType[problem](err); !ok {
		return "", 0
	}
	if p == problemQuota || p == problemThrottled || p == problemMails {
		return p, http.StatusTooManyRequests
	}
	return p, http.StatusUnprocessableEntity
}
