package accounts

import (
	"errors"

	"github.com/respawnd/respawnd/internal/verdicts"
)

// DetailOf returns the detail of the verdict on an address after a refusal, "" if it
// has none.
func DetailOf(err error) string {
	if other, ok := errors.AsType[*NamespaceError](err); ok {
		return other.Detail()
	}
	return ""
}

// VerdictOn returns the verdict on an address after a refusal. ok is false for
// any other error, which is a fault of the server.
func VerdictOn(err error) (v verdicts.Verdict, ok bool) {
	if _, ok := errors.AsType[*NamespaceError](err); ok {
		return verdicts.OtherNamespace, true
	}
	why, ok := errors.AsType[Refusal](err)
	if !ok {
		return 0, false
	}
	switch why {
	case ErrMalformed:
		return verdicts.MalformedRequest, true
	case ErrThrottled:
		return verdicts.Limited, true
	case ErrBanned:
		return verdicts.AccountBanned, true
	case ErrBadPassword:
		return verdicts.WrongPassword, true
	case ErrBadEmail, ErrBadProfile, ErrProfileDeleted, ErrBadUniqueNick:
		return verdicts.NoSuchAccount, true
	case ErrBadToken, ErrBadTicket, ErrExpiredTicket:
		return verdicts.BadTicket, true
	case ErrNotKept, ErrCDKeyNotKept:
		return verdicts.NotKept, true
	default:
		return verdicts.AccountRefused, true
	}
}
