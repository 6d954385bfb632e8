package accounts

import (
	"slices"
	"strings"

	"github.com/respawnd/respawnd/storage"
)

// Limits of what players choose, in bytes.
const (
	MinUniqueNick = 3  // MinUniqueNick is the shortest unique nick.
	MinEmail      = 3  // MinEmail is the shortest e-mail.
	MaxPassword   = 30 // MaxPassword is the longest password: more does not fit into the clients.
)

// keyWords are the keys of the presence protocol, in order. Clients look for a
// key anywhere in a message, also among the values, so none of these may be
// the whole of a value.
func keyWords() []string {
	return []string{
		"aim", "bdy", "bip", "birthday", "blk", "bm", "bport", "bsi", "challenge", "chc", "conn", "countrycode", "date",
		"dpr", "email", "err", "errmsg", "error", "f", "fatal", "final", "firstname", "gamemn", "gametype", "gamevnt",
		"homepage", "hostip", "hport", "hprivip", "i1", "icquin", "id", "inc", "ind", "ka", "lastname", "lat", "lc",
		"list", "loc", "lon", "lt", "mar", "msg", "nick", "npr", "nur", "o1", "occ", "pi", "pic", "pid", "pmask",
		"product", "profile", "profileid", "proof", "qmodeflags", "qport", "rc", "rn", "rstatus", "sessflags",
		"sesskey", "sex", "sig", "state", "uniquenick", "userid", "zipcode",
	}
}

// names are the rules for what players call themselves.
type names struct {
	keyWords map[string]bool // folded
	reserved map[string]bool // folded and stripped, the operator's own among them
	rule     func(namespace int) NamespaceRule
}

// NamespaceRule is what holds for the unique nicks of one namespace. The zero
// value is right for most.
type NamespaceRule struct {
	// Distinct makes nicks that differ only in special characters different
	// ones. Without it "Joe" and "%Joe%" are one.
	Distinct bool
	// LeadingDigit allows a digit as the first character.
	LeadingDigit bool
	// Plain allows letters, digits, '-', '_' and '.' only.
	Plain bool
	// NonASCII allows bytes above ASCII, of whatever code page. Plain goes
	// before it.
	NonASCII bool
}

// ignNamespace is the namespace of IGN, whose unique nicks were plain.
const ignNamespace = 15

// DefaultRule is the rule of a namespace unless Options say otherwise.
func DefaultRule(namespace int) NamespaceRule {
	return NamespaceRule{Plain: namespace == ignNamespace}
}

func newNames(reserved []string, rule func(int) NamespaceRule) *names {
	n := &names{keyWords: make(map[string]bool), reserved: make(map[string]bool), rule: rule}
	for _, w := range keyWords() {
		n.keyWords[w] = true
		n.reserved[w] = true
	}
	for _, w := range reserved {
		if w = strip(w); w != "" {
			n.reserved[w] = true
		}
	}
	return n
}

// strip folds s and leaves its letters and digits. Bytes above ASCII count as
// letters.
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

// isKeyWord reports whether a value would be taken for a key by clients.
func (n *names) isKeyWord(s string) bool { return n.keyWords[storage.Fold(s)] }

// uniqueNickKey returns what is unique of a unique nick.
func (n *names) uniqueNickKey(namespace int, nick string) string {
	if !n.rule(namespace).Distinct {
		if key := strip(nick); key != "" {
			return key
		}
	}
	return storage.Fold(nick) // also where nothing is left of it
}

// checkUniqueNick applies the rules of the namespace.
func (n *names) checkUniqueNick(namespace int, nick string) error {
	if namespace <= 0 || namespace > storage.MaxAccountID {
		return ErrBadNamespace
	}
	if len(nick) < MinUniqueNick || len(nick) > storage.MaxUniqueNick {
		return ErrUniqueNickIllegal
	}
	rule := n.rule(namespace)
	for i := range len(nick) {
		if !rule.allows(nick[i]) {
			return ErrUniqueNickIllegal
		}
	}
	first := nick[0]
	if strings.IndexByte("@+#:", first) >= 0 || !rule.LeadingDigit && '0' <= first && first <= '9' {
		return ErrUniqueNickIllegal
	}
	if n.reserved[strip(nick)] || n.isKeyWord(nick) {
		return ErrUniqueNickReserved
	}
	return nil
}

// allows reports whether a unique nick may have that character.
func (r NamespaceRule) allows(c byte) bool {
	switch {
	case r.Plain:
		return isAlnum(c) || c == '-' || c == '_' || c == '.'
	case c > 127:
		return r.NonASCII
	}
	return c >= 34 && c <= 126 && c != '\'' && c != ',' && c != '\\'
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// checkNick applies the rules for nicks.
func (n *names) checkNick(nick string) error {
	if nick == "" || len(nick) > storage.MaxNick || !clean(nick) || n.isKeyWord(nick) {
		return ErrBadNick
	}
	return nil
}

// clean reports whether a text has no control characters and no backslash.
func clean(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f || s[i] == '\\' {
			return false
		}
	}
	return true
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

// checkEmail applies the rules for e-mails: no more than what keeps logins
// readable, because nobody writes to them.
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
func (n *names) checkProfile(p *storage.Profile) error {
	if err := n.checkNick(p.Nick); err != nil {
		return err
	}
	texts := []string{p.FirstName, p.LastName, p.Homepage, p.Zip, p.Country, p.Place, p.AIM}
	if slices.ContainsFunc(texts, n.isKeyWord) {
		return ErrBadField
	}
	if p.Check() != nil {
		return ErrBadField
	}
	return nil
}
