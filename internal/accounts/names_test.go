package accounts

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/storage"
)

func TestUniqueNickRules(t *testing.T) {
	tests := map[string]struct {
		namespace int
		nick      string
		want      error
	}{
		"plain":               {1, "Player1", nil},
		"shortest":            {1, strings.Repeat("a", MinUniqueNick), nil},
		"too short":           {1, strings.Repeat("a", MinUniqueNick-1), ErrUniqueNickIllegal},
		"empty":               {1, "", ErrUniqueNickIllegal},
		"longest":             {1, strings.Repeat("a", storage.MaxUniqueNick), nil},
		"too long":            {1, strings.Repeat("a", storage.MaxUniqueNick+1), ErrUniqueNickIllegal},
		"specials":            {1, `x[clan]"y~`, nil},
		"only specials":       {1, "[-]", nil},
		"space":               {1, "a b", ErrUniqueNickIllegal},
		"exclamation mark":    {1, "ab!", ErrUniqueNickIllegal},
		"apostrophe":          {1, "it's", ErrUniqueNickIllegal},
		"comma":               {1, "a,b", ErrUniqueNickIllegal},
		"backslash":           {1, `a\b`, ErrUniqueNickIllegal},
		"DEL":                 {1, "ab\x7f", ErrUniqueNickIllegal},
		"NUL":                 {1, "ab\x00", ErrUniqueNickIllegal},
		"not ASCII":           {1, "M\xfcller", ErrUniqueNickIllegal},
		"IGN not ASCII":       {15, "M\xfcller", ErrUniqueNickIllegal},
		"leading at":          {1, "@abc", ErrUniqueNickIllegal},
		"leading plus":        {1, "+abc", ErrUniqueNickIllegal},
		"leading hash":        {1, "#abc", ErrUniqueNickIllegal},
		"leading colon":       {1, ":abc", ErrUniqueNickIllegal},
		"at inside":           {1, "a@bc", nil},
		"leading digit":       {1, "1abc", ErrUniqueNickIllegal},
		"namespace 0":         {0, "Player1", ErrBadNamespace},
		"negative namespace":  {-1, "Player1", ErrBadNamespace},
		"huge namespace":      {1 << 31, "Player1", ErrBadNamespace},
		"IGN":                 {15, "a-b_c.d", nil},
		"IGN specials":        {15, "a[b]", ErrUniqueNickIllegal},
		"key word":            {1, "SessKey", ErrUniqueNickReserved},
		"key word dressed up": {1, "%nick%", ErrUniqueNickReserved},
		"key word inside":     {1, "nickname", nil},
	}
	for name, tt := range tests {
		if err := checkUniqueNick(tt.namespace, tt.nick); !errors.Is(err, tt.want) {
			t.Errorf("%s: checkUniqueNick(%d, %q) = %v, want %v", name, tt.namespace, tt.nick, err, tt.want)
		}
	}
}

func TestKeyWordsAreThoseOfTheProtocol(t *testing.T) {
	const all = "id err errmsg fatal error lc challenge proof sesskey userid profileid uniquenick lt nur pid pi nick email " +
		"sig firstname lastname icquin homepage zipcode countrycode lon lat loc birthday sex pmask aim pic occ ind inc mar " +
		"chc i1 o1 conn bm f date msg bsi state profile bip bport hostip hprivip qport hport sessflags rstatus gametype " +
		"gamevnt gamemn product qmodeflags bdy blk list final npr dpr rn rc ka"
	for word := range strings.FieldsSeq(all) {
		if !gamespy.IsPresenceKey(strings.ToUpper(word)) {
			t.Errorf("IsPresenceKey(%q) = false", strings.ToUpper(word))
		}
		if err := checkNick(word); !errors.Is(err, ErrBadNick) {
			t.Errorf("checkNick(%q) = %v, want ErrBadNick", word, err)
		}
	}
}

func TestUniqueNickKey(t *testing.T) {
	for nick, want := range map[string]string{"Joe": "joe", "%Joe%": "joe", "joe*1": "joe1", "[-]": "[-]"} {
		if got := uniqueNickKey(nick); got != want {
			t.Errorf("uniqueNickKey(%q) = %q, want %q", nick, got, want)
		}
	}
}

func TestEmailAndPasswordRules(t *testing.T) {
	for email, ok := range map[string]bool{
		"a@b": true, "": false, "a@": false, "@b": false, "ab": false, "a@b@c": false, "a b@c": false, `a\b@c`: false,
		"\u00e4@b.c": false, "a@b.c\x00": false,
		strings.Repeat("a", storage.MaxEmail-2) + "@b": true, strings.Repeat("a", storage.MaxEmail-1) + "@b": false,
	} {
		if err := checkEmail(email); (err == nil) != ok {
			t.Errorf("checkEmail(%q) = %v, want ok = %v", email, err, ok)
		}
	}
	for password, ok := range map[string]bool{
		"": false, "x": true, " ": true, `\`: true, "\xff": true, "\x00": false,
		strings.Repeat("x", 30): true, strings.Repeat("x", 31): false,
	} {
		if err := checkPassword(password); (err == nil) != ok {
			t.Errorf("checkPassword(%q) = %v, want ok = %v", password, err, ok)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a b": "a b", `a\b\\`: "a/b//", "a\x00\n\x7fb": "ab", "\xff\u00e4": "\xff\u00e4",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestEveryRefusalHasWords(t *testing.T) {
	source, err := os.ReadFile("refusal.go")
	if err != nil {
		t.Fatal(err)
	}
	texts := regexp.MustCompile(`Refusal = "(.*)"`).FindAllSubmatch(source, -1)
	if len(texts) < 28 {
		t.Errorf("%d refusals were found", len(texts))
	}
	for _, text := range texts {
		if len(text[1]) == 0 || bytes.ContainsRune(text[1], '\\') {
			t.Errorf("a refusal says %q", text[1])
		}
	}
}

// FuzzNames checks that every name that the rules allow can be stored and sent.
func FuzzNames(f *testing.F) {
	f.Add("Player1", 1)
	f.Add(`x[clan]y`, 15)
	f.Add("%nick%", 0)
	f.Add("M\xfcller", 2)
	f.Fuzz(func(t *testing.T, s string, namespace int) {
		if checkUniqueNick(namespace, s) == nil {
			key := uniqueNickKey(s)
			p := storage.Profile{Nick: s, UniqueNicks: []storage.UniqueNick{{Namespace: namespace, Nick: s, Key: key}}}
			if err := p.Check(); err != nil || checkNick(s) != nil {
				t.Errorf("the unique nick %q cannot be stored: %v", s, err)
			}
			if upper := uniqueNickKey(strings.ToUpper(s)); upper != key {
				t.Errorf("the key of %q is %q, in capitals %q", s, key, upper)
			}
		}
		if checkNick(s) == nil && (strings.ContainsAny(s, "\\\x00") || Clean(s) != s) {
			t.Errorf("checkNick(%q) = nil", s)
		}
		if c := Clean(s); strings.ContainsAny(c, "\\\x00") || Clean(c) != c || len(c) > len(s) {
			t.Errorf("Clean(%q) = %q", s, c)
		}
		if checkEmail(s) == nil {
			u := storage.User{Email: s}
			if err := u.Check(); err != nil {
				t.Errorf("the e-mail %q cannot be stored: %v", s, err)
			}
			if nick, email, ok := SplitUser("ni@ck@" + s); !ok || nick != "ni@ck" || email != s {
				t.Errorf("SplitUser(ni@ck@%s) = %q, %q, %v", s, nick, email, ok)
			}
		}
		for _, rule := range []int{1, 15} {
			if base := legalPart(rule, s); len(base) > storage.MaxUniqueNick || base == "" {
				t.Errorf("legalPart(%q) = %q", s, base)
			}
		}
	})
}
