package accounts

import (
	"errors"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

func TestNameBounds(t *testing.T) {
	nick := func(n int) error { return checkUniqueNick(1, strings.Repeat("a", n)) }
	email := func(n int) error { return checkEmail("a@" + strings.Repeat("b", n-2)) }
	for name, tt := range map[string]struct{ err, want error }{
		"shortest unique nick":  {nick(MinUniqueNick), nil},
		"unique nick too short": {nick(MinUniqueNick - 1), ErrUniqueNickIllegal},
		"longest unique nick":   {nick(storage.MaxUniqueNick), nil},
		"unique nick too long":  {nick(storage.MaxUniqueNick + 1), ErrUniqueNickIllegal},
		"shortest e-mail":       {email(MinEmail), nil},
		"e-mail too short":      {email(MinEmail - 1), ErrBadEmail},
		"longest e-mail":        {email(storage.MaxEmail), nil},
		"e-mail too long":       {email(storage.MaxEmail + 1), ErrBadEmail},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
}
