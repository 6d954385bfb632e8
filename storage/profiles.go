package storage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Limits of a Profile, from the buffers of the original clients.
const (
	MaxNick       = 30  // MaxNick is the longest nick in bytes.
	MaxUniqueNick = 20  // MaxUniqueNick is the longest unique nick in bytes.
	MaxPersonName = 30  // MaxPersonName is the longest first or last name in bytes.
	MaxHomepage   = 75  // MaxHomepage is the longest home page in bytes.
	MaxZip        = 10  // MaxZip is the longest zip code in bytes.
	MaxCountry    = 2   // MaxCountry is the longest country code in bytes.
	MaxPlace      = 127 // MaxPlace is the longest place in bytes.
	MaxAIM        = 50  // MaxAIM is the longest AIM name in bytes.
	// MaxNickNamespaces is the number of namespaces that
	// [Accounts.NamespacesOfUniqueNick] searches.
	MaxNickNamespaces = 1024

	MaxUniqueNicks = 64 // MaxUniqueNicks is the highest number of unique nicks of one profile.
	MaxCDKeys      = 64 // MaxCDKeys is the highest number of CD keys of one profile.
	MaxCDKeyDigest = 64 // MaxCDKeyDigest is the longest digest of a CD key in bytes.
)

// ProfileID identifies a profile. It is never 0 once stored and never reused.
type ProfileID uint32

// Profile is one of the identities of a user, which other players see and have
// as buddy. Its texts are bytes in any code page, without control characters
// and without backslash, which the protocols cannot carry.
type Profile struct {
	ID          ProfileID    `json:"id"`
	User        UserID       `json:"user"`
	Nick        string       `json:"nick"` // unique under its user without regard to case
	UniqueNicks []UniqueNick `json:"uniquenicks,omitempty"`
	CDKeys      []CDKey      `json:"cdkeys,omitempty"`

	FirstName string `json:"first_name,omitzero"`
	LastName  string `json:"last_name,omitzero"`
	Homepage  string `json:"homepage,omitzero"`
	Zip       string `json:"zip,omitzero"`
	Country   string `json:"country,omitzero"` // two letters
	Place     string `json:"place,omitzero"`   // parts separated by vertical bars
	AIM       string `json:"aim,omitzero"`

	ICQ        int32  `json:"icq,omitzero"`
	Birthday   uint32 `json:"birthday,omitzero"` // day<<24 | month<<16 | year; 0: not stated
	Sex        uint8  `json:"sex,omitzero"`      // one of the Sex constants
	PublicMask uint32 `json:"public_mask"`       // a set bit makes a field visible to others
	Picture    int32  `json:"picture,omitzero"`
	Occupation int32  `json:"occupation,omitzero"`
	Industry   int32  `json:"industry,omitzero"`
	Income     int32  `json:"income,omitzero"`
	Married    int32  `json:"married,omitzero"`
	Children   int32  `json:"children,omitzero"`
	Interests  int32  `json:"interests,omitzero"`
	Ownership  int32  `json:"ownership,omitzero"`
	Connection int32  `json:"connection,omitzero"`

	Created time.Time `json:"created,omitzero"`
	Rev     Rev       `json:"rev"`
}

// The values of Profile.Sex. The zero value means not stated.
const (
	SexUnset  uint8 = 0
	SexMale   uint8 = 1
	SexFemale uint8 = 2
)

// UniqueNick is the name of a profile in one namespace.
type UniqueNick struct {
	Namespace int    `json:"namespace"` // above 0; at most one of each in a profile
	Nick      string `json:"nick"`      // as it is shown
	Key       string `json:"key"`       // unique key: the nick folded by the rules of its namespace
}

// CDKey is a key registered to a profile. Hash and Sealed are empty in records of
// versions that kept only the digest.
type CDKey struct {
	Game   string    `json:"game"`             // at most one of each in a profile
	Digest string    `json:"digest"`           // of the letters and digits of the key; unique in its game
	Hash   string    `json:"hash,omitzero"`    // of the MD5 of the key as the client spelt it; unique in its game, no other Digest
	Sealed []byte    `json:"sealed,omitempty"` // the key itself as the client spelt it, opaque to the store; nil unless it is kept
	Added  time.Time `json:"added,omitzero"`
}

// ProfileIndex is a field by which profiles can be found.
type ProfileIndex uint8

// The indexes. The numbers are part of stored keys and never change.
const (
	ByNick      ProfileIndex = 1 // ByNick finds by Nick.
	ByFirstName ProfileIndex = 2 // ByFirstName finds by FirstName.
	ByLastName  ProfileIndex = 3 // ByLastName finds by LastName.
	ByICQ       ProfileIndex = 4 // ByICQ finds by ICQ, in decimal.
)

// UniqueNickIn returns the unique nick of p in the namespace, "" if it has none.
func (p *Profile) UniqueNickIn(namespace int) string {
	for _, n := range p.UniqueNicks {
		if n.Namespace == namespace {
			return n.Nick
		}
	}
	return ""
}

// Check returns an error, which matches ErrInvalid, if p exceeds a limit.
func (p *Profile) Check() error {
	switch {
	case p.ID > MaxAccountID || p.User > MaxAccountID:
		return invalid("profile or user id is over %d", MaxAccountID)
	case p.Nick == "":
		return invalid("nick is empty")
	case p.Sex > SexFemale:
		return invalid("sex is over %d", SexFemale)
	}
	return cmp.Or(
		checkLine("nick", p.Nick, MaxNick), checkLine("first name", p.FirstName, MaxPersonName), checkLine("last name", p.LastName, MaxPersonName),
		checkLine("home page", p.Homepage, MaxHomepage), checkLine("zip code", p.Zip, MaxZip), checkLine("country", p.Country, MaxCountry),
		checkLine("place", p.Place, MaxPlace), checkLine("AIM name", p.AIM, MaxAIM),
		checkBirthday(p.Birthday), p.checkUniqueNicks(), p.checkCDKeys(),
	)
}

func (p *Profile) checkUniqueNicks() error {
	if len(p.UniqueNicks) > MaxUniqueNicks {
		return invalid("more than %d unique nicks", MaxUniqueNicks)
	}
	seen := make(map[int]bool, len(p.UniqueNicks))
	for _, n := range p.UniqueNicks {
		switch {
		case n.Namespace == 0 || seen[n.Namespace]:
			return invalid("namespace %d twice or without unique nicks", n.Namespace)
		case n.Nick == "" || n.Key == "":
			return invalid("unique nick is empty")
		}
		seen[n.Namespace] = true
		err := cmp.Or(checkNumber("namespace", n.Namespace),
			checkLine("unique nick", n.Nick, MaxUniqueNick), checkLine("key of the unique nick", n.Key, MaxUniqueNick))
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Profile) checkCDKeys() error {
	if len(p.CDKeys) > MaxCDKeys {
		return invalid("more than %d CD keys", MaxCDKeys)
	}
	seen := make(map[string]bool, len(p.CDKeys))
	for _, k := range p.CDKeys {
		switch {
		case seen[k.Game]:
			return invalid("two CD keys of one game")
		case k.Digest == "":
			return invalid("digest of the CD key is empty")
		case len(k.Sealed) > MaxSealed:
			return invalid("sealed CD key is longer than %d bytes", MaxSealed)
		}
		seen[k.Game] = true
		err := cmp.Or(checkName("game of the CD key", k.Game, MaxGameName),
			checkWord("digest of the CD key", k.Digest, MaxCDKeyDigest), checkWord("hash of the CD key", k.Hash, MaxCDKeyDigest))
		if err != nil {
			return err
		}
	}
	return nil
}

// Canonical returns p as it is stored: checked, with times in UTC, sharing no
// memory with p. The error matches ErrInvalid.
func (p Profile) Canonical() (Profile, error) {
	if err := p.Check(); err != nil {
		return Profile{}, err
	}
	p.UniqueNicks, p.CDKeys = slices.Clone(p.UniqueNicks), slices.Clone(p.CDKeys)
	for i := range p.CDKeys {
		p.CDKeys[i].Added = p.CDKeys[i].Added.Round(0).UTC()
		p.CDKeys[i].Sealed = slices.Clone(p.CDKeys[i].Sealed)
	}
	p.Created = p.Created.Round(0).UTC()
	return p, nil
}

// The range of birthdays, as year, month, day. Some clients crash on any other.
const (
	firstBirthday = 1900<<16 | 1<<8 | 1
	lastBirthday  = 2079<<16 | 6<<8 | 6
)

// Birthday packs a date as in Profile.Birthday. 0, 0, 0 means not stated.
func Birthday(day, month, year int) uint32 {
	return uint32(day)<<24 | uint32(month)<<16 | uint32(year)
}

// checkBirthday returns an error unless b is 0 or a date that clients accept.
func checkBirthday(b uint32) error {
	if b == 0 {
		return nil
	}
	day, month, year := int(b>>24), int(b>>16&0xff), int(b&0xffff)
	d := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	ordered := year<<16 | month<<8 | day
	if d.Day() != day || d.Month() != time.Month(month) || ordered < firstBirthday || ordered > lastBirthday {
		return invalid("birthday is not a date from 1900-01-01 to 2079-06-06")
	}
	return nil
}

// Fold returns s with its ASCII letters in lower case, for comparing names and
// e-mails. Other bytes stay, because their code page is unknown.
func Fold(s string) string { return ascii.ToLower(s) }

// checkNumber returns an error for a number that clients cannot read.
func checkNumber(what string, n int) error {
	if n < 0 || n > MaxAccountID {
		return invalid("%s is outside 0 to %d", what, MaxAccountID)
	}
	return nil
}

// checkWord returns an error for a text that is too long or has characters
// other than printable ASCII without space and backslash.
func checkWord(what, s string, limit int) error {
	if len(s) > limit {
		return invalid("%s is longer than %d bytes", what, limit)
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '\\' {
			return invalid("%s has a character that no such word may have", what)
		}
	}
	return nil
}

// checkLine returns an error for a text that is too long or has control
// characters or a backslash. Bytes above ASCII may be anything.
func checkLine(what, s string, limit int) error {
	if len(s) > limit {
		return invalid("%s is longer than %d bytes", what, limit)
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == 0x7f || c == '\\' {
			return invalid("%s has a control character or a backslash", what)
		}
	}
	return nil
}

// JSON is UTF-8 and cannot hold every text of a profile. A record with a text
// that is not UTF-8 has "raw": true, and then each character of its texts
// stands for the byte with that number.

// texts returns the fields that may hold any bytes.
func (p *Profile) texts() []*string {
	all := []*string{&p.Nick, &p.FirstName, &p.LastName, &p.Homepage, &p.Zip, &p.Country, &p.Place, &p.AIM}
	for i := range p.UniqueNicks {
		all = append(all, &p.UniqueNicks[i].Nick, &p.UniqueNicks[i].Key)
	}
	return all
}

// plainProfile is a Profile without its methods.
type plainProfile Profile

// MarshalJSON writes texts that are not UTF-8 in a form from which
// UnmarshalJSON restores the bytes.
func (p Profile) MarshalJSON() ([]byte, error) {
	p.UniqueNicks = slices.Clone(p.UniqueNicks) // they may be rewritten
	raw := widen(p.texts())
	return json.Marshal(struct {
		plainProfile
		Raw bool `json:"raw,omitzero"`
	}{plainProfile(p), raw})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (p *Profile) UnmarshalJSON(b []byte) error {
	var v struct {
		plainProfile
		Raw bool `json:"raw"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*p = Profile(v.plainProfile)
	return narrow(v.Raw, p.texts())
}

// widen replaces every byte of the texts by the character with that number if
// one of them is not UTF-8, and reports whether it did.
func widen(texts []*string) bool {
	if !slices.ContainsFunc(texts, func(s *string) bool { return !utf8.ValidString(*s) }) {
		return false
	}
	for _, s := range texts {
		var b strings.Builder
		for i := range len(*s) {
			b.WriteRune(rune((*s)[i]))
		}
		*s = b.String()
	}
	return true
}

// narrow undoes widen.
func narrow(raw bool, texts []*string) error {
	if !raw {
		return nil
	}
	for _, s := range texts {
		b := make([]byte, 0, len(*s))
		for _, r := range *s {
			if r > 0xff {
				return fmt.Errorf("character %U in a raw text", r)
			}
			b = append(b, byte(r))
		}
		*s = string(b)
	}
	return nil
}
