package accounts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/storage"
)

// Limits of texts that players choose, in bytes.
const (
	MinUniqueNick = 3  // MinUniqueNick is the shortest unique nick.
	MinEmail      = 3  // MinEmail is the shortest e-mail.
	MaxPassword   = 30 // MaxPassword is the longest password: more does not fit into the clients.
)

// ignNamespace is the namespace of IGN, whose unique nicks are letters, digits, '-',
// '_' and '.' only.
const ignNamespace = 15

// strip folds s and keeps only its letters and digits. Bytes above ASCII count
// as letters.
func strip(s string) string {
	s = storage.Fold(s)
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if isAlnum(s[i]) || s[i] > 127 {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// uniqueNickKey returns the key that must be unique for a unique nick: nicks
// that differ only in special characters, such as "Joe" and "%Joe%", share it.
func uniqueNickKey(nick string) string {
	if key := strip(nick); key != "" {
		return key
	}
	return storage.Fold(nick)
}

func uniqueNick(namespace int, nick string) storage.UniqueNick {
	return storage.UniqueNick{Namespace: namespace, Nick: nick, Key: uniqueNickKey(nick)}
}

// checkUniqueNick applies the rules of the namespace.
func checkUniqueNick(namespace int, nick string) error {
	if namespace <= 0 || namespace > storage.MaxAccountID {
		return ErrBadNamespace
	}
	if len(nick) < MinUniqueNick || len(nick) > storage.MaxUniqueNick {
		return ErrUniqueNickIllegal
	}
	for i := range len(nick) {
		if !allows(namespace, nick[i]) {
			return ErrUniqueNickIllegal
		}
	}
	first := nick[0]
	if strings.IndexByte("@+#:", first) >= 0 || isDigit(first) {
		return ErrUniqueNickIllegal
	}
	if gamespy.IsPresenceKey(strip(nick)) || gamespy.IsPresenceKey(nick) {
		return ErrUniqueNickReserved
	}
	return nil
}

// allows reports whether a unique nick of a namespace may have that character.
func allows(namespace int, c byte) bool {
	if namespace == ignNamespace {
		return isAlnum(c) || c == '-' || c == '_' || c == '.'
	}
	return c >= 34 && c <= 126 && c != '\'' && c != ',' && c != '\\'
}

func isAlnum(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// checkNick applies the rules for nicks.
func checkNick(nick string) error {
	if nick == "" || len(nick) > storage.MaxNick || !clean(nick) || gamespy.IsPresenceKey(nick) {
		return ErrBadNick
	}
	return nil
}

// clean reports whether a text has no control characters and no backslash.
func clean(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\\' })
}

// Clean returns s as the protocols can carry it: a slash for every backslash,
// no control characters.
func Clean(s string) string {
	if clean(s) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\':
			b = append(b, '/')
		case c >= ' ' && c != 0x7f:
			b = append(b, c)
		}
	}
	return string(b)
}

// checkEmail applies the rules for e-mails. They only keep logins readable,
// because no mail is sent.
func checkEmail(email string) error {
	if len(email) < MinEmail || len(email) > storage.MaxEmail || strings.Count(email, "@") != 1 {
		return ErrBadEmail
	}
	for i := range len(email) {
		if c := email[i]; c <= ' ' || c > '~' || c == '\\' {
			return ErrBadEmail
		}
	}
	if email[0] == '@' || email[len(email)-1] == '@' {
		return ErrBadEmail
	}
	return nil
}

// checkPassword applies the rules for passwords.
func checkPassword(password string) error {
	if password == "" || len(password) > MaxPassword || strings.IndexByte(password, 0) >= 0 {
		return ErrBadPassword
	}
	return nil
}

// checkProfile applies the rules for everything in a profile but its unique
// nicks and CD keys.
func checkProfile(p *storage.Profile) error {
	if err := checkNick(p.Nick); err != nil {
		return err
	}
	texts := []string{p.FirstName, p.LastName, p.Homepage, p.Zip, p.Country, p.Place, p.AIM}
	if slices.ContainsFunc(texts, gamespy.IsPresenceKey) {
		return ErrBadField
	}
	if p.Check() != nil {
		return ErrBadField
	}
	return nil
}

// maxSuggestTries bounds the look-ups of one call of Suggest.
const maxSuggestTries = 24

// Suggest returns up to n free unique nicks similar to wish, wish itself first
// if it is free. There may be none.
func (s *Profiles) Suggest(ctx context.Context, namespace int, wish string, n int) ([]string, error) {
	if namespace <= 0 || n <= 0 {
		return nil, nil
	}
	var found []string
	for _, candidate := range candidates(namespace, wish) {
		err := s.CheckUniqueNick(ctx, namespace, candidate)
		if err == nil {
			found = append(found, candidate)
		} else if _, refused := errors.AsType[Refusal](err); !refused {
			return nil, err
		}
		if len(found) >= n {
			break
		}
	}
	return found, nil
}

// candidates returns the wish, the wish without forbidden characters, and that
// followed by numbers, maxSuggestTries in all.
func candidates(namespace int, wish string) []string {
	base := legalPart(namespace, wish)
	all := slices.Compact([]string{wish, base})
	for i := 1; len(all) < maxSuggestTries; i++ {
		suffix := strconv.Itoa(i)
		if i == 3 {
			suffix = strconv.Itoa(time.Now().Year())
		}
		all = append(all, base[:min(len(base), storage.MaxUniqueNick-len(suffix))]+suffix)
	}
	return all
}

// legalPart returns the characters of a wish that the rules of a namespace
// allow, with a prefix if it could not begin with them.
func legalPart(namespace int, wish string) string {
	legal := make([]byte, 0, len(wish))
	for i := range len(wish) {
		if allows(namespace, wish[i]) {
			legal = append(legal, wish[i])
		}
	}
	base := cmp.Or(strings.TrimLeft(string(legal), "@+#:"), "Player")
	if isDigit(base[0]) {
		base = "x" + base
	}
	return base[:min(len(base), storage.MaxUniqueNick)]
}
