package accounts

import (
	"errors"
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
)

func TestVerdictOnRefusals(t *testing.T) {
	for err, want := range map[error]verdicts.Verdict{
		ErrMalformed: verdicts.MalformedRequest, ErrThrottled: verdicts.Limited, ErrBanned: verdicts.AccountBanned,
		ErrBadPassword: verdicts.WrongPassword, ErrBadUniqueNick: verdicts.NoSuchAccount, ErrProfileDeleted: verdicts.NoSuchAccount,
		&NamespaceError{1, []int{12}}: verdicts.OtherNamespace,
		ErrExpiredTicket:              verdicts.BadTicket, ErrEmailTaken: verdicts.AccountRefused, ErrBadNick: verdicts.AccountRefused,
		ErrNotKept: verdicts.NotKept, ErrCDKeyNotKept: verdicts.NotKept,
	} {
		if v, ok := VerdictOn(fmt.Errorf("account: %w", err)); !ok || v != want {
			t.Errorf("VerdictOn(%v) = %v, %v, want %v", err, v, ok, want)
		}
	}
	for _, err := range []error{nil, errors.New("the disk is full")} {
		if v, ok := VerdictOn(err); ok {
			t.Errorf("VerdictOn(%v) = %v, want none", err, v)
		}
	}
}
