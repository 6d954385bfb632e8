package gpsp

import (
	"cmp"
	"errors"

	"github.com/respawnd/respawnd/internal/accounts"
)

// code is an error code of the protocol.
type code int

// The codes that the service sends.
const (
	codeParse          code = 1
	codeNotLoggedIn    code = 2
	codeBadSession     code = 3
	codeDatabase       code = 4
	codeNewUser        code = 512
	codeNewUserNick    code = 513
	codeNewUserPass    code = 514
	codeNewUserIllegal code = 515
	codeNewUserTaken   code = 516
	codeSearch         code = 3328
	codeCheck          code = 3584
	codeCheckEmail     code = 3585
	codeCheckNick      code = 3586
	codeCheckPass      code = 3587
)

// refusal is an error that is sent to the client.
type refusal struct {
	code code
	text string
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// The refusals that do not depend on the request.
func errMalformed() error { return &refusal{codeParse, "the request is malformed"} }

func errNotLoggedIn() error {
	return &refusal{codeNotLoggedIn, "you must be logged in for that"}
}
func errBadSession() error { return &refusal{codeBadSession, "the session key is not valid"} }

var newUserCodes = map[accounts.Refusal]code{
	accounts.ErrBadNick: codeNewUserNick, accounts.ErrNickTaken: codeNewUserNick, accounts.ErrBadPassword: codeNewUserPass,
	accounts.ErrUniqueNickIllegal: codeNewUserIllegal, accounts.ErrUniqueNickReserved: codeNewUserIllegal,
	accounts.ErrUniqueNickTaken: codeNewUserTaken,
}

// newUserCode returns the code for the reply to newuser.
func newUserCode(err error) code {
	r, _ := errors.AsType[accounts.Refusal](err)
	return cmp.Or(newUserCodes[r], codeNewUser)
}

// checkCode returns the code for the reply to check. In private an unknown
// e-mail looks like a wrong password.
func checkCode(err error, private bool) code {
	r, ok := errors.AsType[accounts.Refusal](err)
	switch {
	case !ok:
		return codeCheck
	case r == accounts.ErrBadEmail && private, r == accounts.ErrBadPassword:
		return codeCheckPass
	case r == accounts.ErrBadEmail:
		return codeCheckEmail
	case r == accounts.ErrBadProfile:
		return codeCheckNick
	}
	return codeCheck
}
