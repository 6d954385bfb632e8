package fesl

import (
	"errors"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/accounts"
)

// code is the number of an error, for which games have texts of their own.
type code int

// The codes that the service sends.
const (
	codeNotSignedIn  code = 20
	codeFields       code = 21 // with a fieldError
	codeSystem       code = 99
	codeUnknownName  code = 101
	codeBanned       code = 103
	codeTooOften     code = 121
	codePassword     code = 122
	codeNameTaken    code = 160
	codeTooMany      code = 163
	codeKeyTaken     code = 180
	codeKeyBad       code = 181
	codeTooManyFound code = 223
	codeNotOwned     code = 3012
	codeNoRecord     code = 5000
)

// fieldError says what is wrong with a field of a form.
type fieldError int

// The errors of fields.
const (
	fieldInvalid  fieldError = 6
	fieldMissing  fieldError = 1
	fieldShort    fieldError = 2
	fieldLong     fieldError = 3
	fieldNoLetter fieldError = 4 // it must begin with one
	fieldRefused  fieldError = 7
)

// fieldTexts are the words that go with the errors.
var fieldTexts = map[fieldError]string{
	fieldInvalid: "INVALID_VALUE", fieldMissing: "REQUIRED_FIELD", fieldShort: "TOO_SHORT", fieldLong: "TOO_LONG",
	fieldNoLetter: "MUST_BEGIN_WITH_LETTER", fieldRefused: "NOT_ALLOWED",
}

// refusal is an error that is sent to the client.
type refusal struct {
	code  code
	text  string
	field string // with codeFields
	why   fieldError
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// badField refuses a form for one of its fields.
func badField(field string, why fieldError) error {
	return &refusal{codeFields, "A value of the form is not valid.", field, why}
}

func refuse(c code, text string) error { return &refusal{code: c, text: text} }

// refusalOf returns what a client is sent for an error; nil: the error is a fault of the
// server. private hides which accounts exist.
func refusalOf(err error, private bool) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	why, ok := errors.AsType[accounts.Refusal](err)
	if !ok {
		return nil
	}
	switch why {
	case accounts.ErrBadEmail, accounts.ErrBadUniqueNick, accounts.ErrBadProfile, accounts.ErrProfileDeleted:
		if private {
			return refusalOf(accounts.ErrBadPassword, false)
		}
		return &refusal{code: codeUnknownName, text: "The account or its profile is not known."}
	case accounts.ErrBadPassword, accounts.ErrBadTicket, accounts.ErrExpiredTicket:
		return &refusal{code: codePassword, text: "The password is not correct."}
	case accounts.ErrThrottled:
		return &refusal{code: codeTooOften, text: "Too many attempts. Try again later."}
	case accounts.ErrBanned:
		return &refusal{code: codeBanned, text: "The account is banned."}
	case accounts.ErrNickTaken, accounts.ErrUniqueNickTaken, accounts.ErrEmailTaken:
		return &refusal{code: codeNameTaken, text: "The name is taken."}
	case accounts.ErrBadNick, accounts.ErrUniqueNickIllegal, accounts.ErrUniqueNickReserved:
		return &refusal{codeFields, "The name is not allowed.", fieldPersona, fieldRefused}
	case accounts.ErrBadField:
		return &refusal{code: codeFields, text: "A value of the form is not valid."}
	case accounts.ErrTooMany:
		return &refusal{code: codeTooMany, text: "The account has as many profiles as it may have."}
	case accounts.ErrCDKeySet, accounts.ErrCDKeyTaken:
		return &refusal{code: codeKeyTaken, text: "The key is in use."}
	case accounts.ErrBadCDKey:
		return &refusal{code: codeKeyBad, text: "The key is not valid."}
	default:
		return &refusal{code: codeSystem, text: why.Error()}
	}
}

// write appends the lines of the refusal.
func (r *refusal) write(t *wire.Text) {
	if r.field == "" {
		t.Add("errorContainer.[]", "0")
	} else {
		t.Add("errorContainer.[]", "1")
		t.Add("errorContainer.0.fieldName", r.field)
		t.AddNumber("errorContainer.0.fieldError", int64(r.why))
		t.Add("errorContainer.0.value", fieldTexts[r.why])
	}
	t.AddNumber("errorCode", int64(r.code))
	t.Add("localizedMessage", r.text)
}

// The fields of forms.
const (
	fieldPersona  = "displayName"
	fieldPassword = "Account.Password"
	fieldEmail    = "Account.EmailAddress"
)
