package gpcm

import (
	"errors"
	"fmt"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/storage"
)

// code is an error code of the protocol.
type code int

// The codes that the service sends.
const (
	codeGeneral            code = 0
	codeParse              code = 1
	codeNotLoggedIn        code = 2
	codeBadSession         code = 3
	codeDatabase           code = 4
	codeForced             code = 6
	codeLogin              code = 256
	codeLoginTimeout       code = 257
	codeLoginEmail         code = 259
	codeLoginPassword      code = 260
	codeLoginProfile       code = 261
	codeLoginDeleted       code = 262
	codeLoginUniqueNick    code = 265
	codeLoginToken         code = 266
	codeLoginTicket        code = 267
	codeLoginTicketExpired code = 268
	codeNewUser            code = 512
	codeNewUserNick        code = 513
	codeNewUserPassword    code = 514
	codeNewUserIllegal     code = 515
	codeNewUserTaken       code = 516
	codeUpdateUI           code = 768
	codeUpdateUIEmail      code = 769
	codeNewProfile         code = 1024
	codeNewProfileNoOld    code = 1025
	codeNewProfileTaken    code = 1026
	codeUpdatePro          code = 1280
	codeUpdateProNick      code = 1281
	codeAddBuddy           code = 1536
	codeAddBuddyNew        code = 1538
	codeAddBuddyAlready    code = 1539
	codeAddBuddyBlocked    code = 1540
	codeAuthAdd            code = 1792
	codeAuthAddFrom        code = 1793
	codeAuthAddSignature   code = 1794
	codeAuthAddBlocked     code = 1795
	codeStatus             code = 2048
	codeMessage            code = 2304
	codeMessageNotBuddy    code = 2305
	codeMessageExtended    code = 2306
	codeMessageOffline     code = 2307
	codeGetProfile         code = 2560
	codeGetProfileUnknown  code = 2561
	codeDelBuddy           code = 2816
	codeDelBuddyNot        code = 2817
	codeDelProfile         code = 3072
	codeDelProfileLast     code = 3073
	codeRevoke             code = 3840
	codeRevokeNot          code = 3841
	codeRegisterNick       code = 4096
	codeRegisterNickTaken  code = 4097
	codeRegisterNickWord   code = 4098
	codeRegisterNickSpace  code = 4099
	codeRegisterKey        code = 4352
	codeRegisterKeyBad     code = 4353
	codeRegisterKeySet     code = 4354
	codeRegisterKeyTaken   code = 4355
	codeAddBlock           code = 4608
	codeAddBlockAlready    code = 4609
	codeRemoveBlock        code = 4864
	codeRemoveBlockNot     code = 4865
)

// fatal tells whether the connection ends after an error of that code: those of
// the connection, of login and of newuser.
func (c code) fatal() bool { return c < codeUpdateUI }

// text returns the words for a code, for those who look at them.
func (c code) text() string {
	switch c {
	case codeParse:
		return "The request is malformed."
	case codeNotLoggedIn:
		return "You must be logged in for that."
	case codeBadSession:
		return "The session key is not valid."
	case codeDatabase:
		return "The server cannot do that now."
	case codeForced:
		return "This profile has been disconnected by another login."
	case codeLoginTimeout:
		return "The login took too long."
	case codeAddBuddyNew, codeGetProfileUnknown, codeAuthAddFrom:
		return "There is no such profile."
	case codeAddBuddyAlready:
		return "That profile is on your list already."
	case codeAddBuddyBlocked, codeAuthAddBlocked:
		return "You block that profile."
	case codeAuthAddSignature:
		return "There is no such request."
	case codeStatus:
		return "The status is not valid."
	case codeMessage:
		return "The message cannot be delivered."
	case codeMessageNotBuddy, codeDelBuddyNot:
		return "That profile is not your buddy."
	case codeMessageExtended:
		return "That is not supported."
	case codeMessageOffline:
		return "That player is not there."
	case codeRevokeNot:
		return "You are not on the list of that profile."
	case codeAddBlockAlready:
		return "You block that profile already."
	case codeRemoveBlockNot:
		return "You do not block that profile."
	case codeRegisterNickSpace:
		return "The namespace has no unique nicks."
	default:
		return "The request was refused."
	}
}

// refusal is an error for the client to hear.
type refusal struct {
	code    code
	text    string            // "": that of the code
	profile storage.ProfileID // for codeNewUserNick: who has the nick; 0: not known
}

// Error implements error.
func (r *refusal) Error() string { return fmt.Sprintf("refused with %d: %s", r.code, r.words()) }

func (r *refusal) words() string {
	if r.text != "" {
		return r.text
	}
	return r.code.text()
}

// refuse returns the refusal of a code with its usual words.
func refuse(c code) error { return &refusal{code: c} }

// refusalOf returns what a client hears of a refusal by the accounts; codes
// gives the code.
func refusalOf(err error, codes func(accounts.Refusal) code) *refusal {
	why, ok := errors.AsType[accounts.Refusal](err)
	if !ok {
		return nil
	}
	r := &refusal{code: codes(why), text: sentence(why)}
	if taken, ok := errors.AsType[*accounts.NickTakenError](err); ok && r.code == codeNewUserNick {
		r.profile = taken.Profile
	}
	return r
}

// sentence returns the words of a refusal as a sentence.
func sentence(r accounts.Refusal) string {
	text := r.Error()
	if c := text[0]; 'a' <= c && c <= 'z' {
		text = string(c-'a'+'A') + text[1:]
	}
	return text + "."
}

func loginCode(r accounts.Refusal) code {
	switch r {
	case accounts.ErrMalformed:
		return codeParse
	case accounts.ErrBadEmail:
		return codeLoginEmail
	case accounts.ErrBadPassword:
		return codeLoginPassword
	case accounts.ErrBadProfile:
		return codeLoginProfile
	case accounts.ErrProfileDeleted:
		return codeLoginDeleted
	case accounts.ErrBadUniqueNick:
		return codeLoginUniqueNick
	case accounts.ErrBadToken:
		return codeLoginToken
	case accounts.ErrBadTicket:
		return codeLoginTicket
	case accounts.ErrExpiredTicket:
		return codeLoginTicketExpired
	default:
		return codeLogin
	}
}

func newUserCode(r accounts.Refusal) code {
	switch r {
	case accounts.ErrBadNick, accounts.ErrNickTaken:
		return codeNewUserNick
	case accounts.ErrBadPassword:
		return codeNewUserPassword
	case accounts.ErrUniqueNickIllegal, accounts.ErrUniqueNickReserved:
		return codeNewUserIllegal
	case accounts.ErrUniqueNickTaken:
		return codeNewUserTaken
	default:
		return codeNewUser
	}
}

func updateProCode(r accounts.Refusal) code {
	if r == accounts.ErrNickTaken {
		return codeUpdateProNick
	}
	return codeUpdatePro
}

func updateUICode(r accounts.Refusal) code {
	if r == accounts.ErrBadEmail || r == accounts.ErrEmailTaken {
		return codeUpdateUIEmail
	}
	return codeUpdateUI
}

func newProfileCode(r accounts.Refusal) code {
	switch r {
	case accounts.ErrNoOldNick:
		return codeNewProfileNoOld
	case accounts.ErrNickTaken:
		return codeNewProfileTaken
	default:
		return codeNewProfile
	}
}

func delProfileCode(r accounts.Refusal) code {
	if r == accounts.ErrLastProfile {
		return codeDelProfileLast
	}
	return codeDelProfile
}

func registerNickCode(r accounts.Refusal) code {
	switch r {
	case accounts.ErrUniqueNickTaken:
		return codeRegisterNickTaken
	case accounts.ErrUniqueNickReserved:
		return codeRegisterNickWord
	case accounts.ErrBadNamespace:
		return codeRegisterNickSpace
	default:
		return codeRegisterNick
	}
}

func registerKeyCode(r accounts.Refusal) code {
	switch r {
	case accounts.ErrBadCDKey:
		return codeRegisterKeyBad
	case accounts.ErrCDKeySet:
		return codeRegisterKeySet
	case accounts.ErrCDKeyTaken:
		return codeRegisterKeyTaken
	default:
		return codeRegisterKey
	}
}
