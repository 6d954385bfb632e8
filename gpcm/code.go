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

// fatal reports whether the connection ends after an error of that code: those of
// the connection, of login and of newuser.
func (c code) fatal() bool { return c < codeUpdateUI }

// texts are the texts of codes, for readers of the messages.
var texts = map[code]string{
	codeParse:             "The request is malformed.",
	codeNotLoggedIn:       "You must be logged in for that.",
	codeBadSession:        "The session key is not valid.",
	codeDatabase:          "The server cannot do that now.",
	codeForced:            "This profile has been disconnected by another login.",
	codeLoginTimeout:      "The login took too long.",
	codeAddBuddyNew:       "There is no such profile.",
	codeGetProfileUnknown: "There is no such profile.",
	codeAuthAddFrom:       "There is no such profile.",
	codeAddBuddyAlready:   "That profile is on your list already.",
	codeAddBuddyBlocked:   "You block that profile.",
	codeAuthAddBlocked:    "You block that profile.",
	codeAuthAddSignature:  "There is no such request.",
	codeStatus:            "The status is not valid.",
	codeMessage:           "The message cannot be delivered.",
	codeMessageNotBuddy:   "That profile is not your buddy.",
	codeDelBuddyNot:       "That profile is not your buddy.",
	codeMessageExtended:   "That is not supported.",
	codeMessageOffline:    "That player is not there.",
	codeRevokeNot:         "You are not on the list of that profile.",
	codeAddBlockAlready:   "You block that profile already.",
	codeRemoveBlockNot:    "You do not block that profile.",
	codeRegisterNickSpace: "The namespace has no unique nicks.",
}

// refusal is an error that is sent to the client.
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
	if text, ok := texts[r.code]; ok {
		return text
	}
	return "The request was refused."
}

// refuse returns the refusal of a code with its usual words.
func refuse(c code) error { return &refusal{code: c} }

type codes map[accounts.Refusal]code

// refusalOf returns the refusal sent to a client for a refusal of package
// accounts, nil if err is not one. A refusal that is not in known has the code
// fail.
func refusalOf(err error, known codes, fail code) *refusal {
	why, ok := errors.AsType[accounts.Refusal](err)
	if !ok {
		return nil
	}
	r := &refusal{code: fail, text: sentence(why)}
	if c, ok := known[why]; ok {
		r.code = c
	}
	if taken, ok := errors.AsType[*accounts.NickTakenError](err); ok && r.code == codeNewUserNick {
		r.profile = taken.Profile
	}
	return r
}

func sentence(r accounts.Refusal) string {
	text := r.Error()
	if c := text[0]; 'a' <= c && c <= 'z' {
		text = string(c-'a'+'A') + text[1:]
	}
	return text + "."
}

// The codes of the commands that have several.
var (
	loginCodes = codes{
		accounts.ErrMalformed:      codeParse,
		accounts.ErrBadEmail:       codeLoginEmail,
		accounts.ErrBadPassword:    codeLoginPassword,
		accounts.ErrBadProfile:     codeLoginProfile,
		accounts.ErrProfileDeleted: codeLoginDeleted,
		accounts.ErrBadUniqueNick:  codeLoginUniqueNick,
		accounts.ErrBadToken:       codeLoginToken,
		accounts.ErrBadTicket:      codeLoginTicket,
		accounts.ErrExpiredTicket:  codeLoginTicketExpired,
	}
	newUserCodes = codes{
		accounts.ErrBadNick:            codeNewUserNick,
		accounts.ErrNickTaken:          codeNewUserNick,
		accounts.ErrBadPassword:        codeNewUserPassword,
		accounts.ErrUniqueNickIllegal:  codeNewUserIllegal,
		accounts.ErrUniqueNickReserved: codeNewUserIllegal,
		accounts.ErrUniqueNickTaken:    codeNewUserTaken,
	}
	updateProCodes = codes{
		accounts.ErrNickTaken: codeUpdateProNick,
	}
	updateUICodes = codes{
		accounts.ErrBadEmail:   codeUpdateUIEmail,
		accounts.ErrEmailTaken: codeUpdateUIEmail,
	}
	newProfileCodes = codes{
		accounts.ErrNoOldNick: codeNewProfileNoOld,
		accounts.ErrNickTaken: codeNewProfileTaken,
	}
	delProfileCodes = codes{
		accounts.ErrLastProfile: codeDelProfileLast,
	}
	registerNickCodes = codes{
		accounts.ErrUniqueNickTaken:    codeRegisterNickTaken,
		accounts.ErrUniqueNickReserved: codeRegisterNickWord,
		accounts.ErrBadNamespace:       codeRegisterNickSpace,
	}
	registerKeyCodes = codes{
		accounts.ErrBadCDKey:   codeRegisterKeyBad,
		accounts.ErrCDKeySet:   codeRegisterKeySet,
		accounts.ErrCDKeyTaken: codeRegisterKeyTaken,
	}
)
