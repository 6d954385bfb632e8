package games

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Limits of a record. Everything beyond is refused, never cut.
const (
	// MaxNameLen is the length of the longest game name in bytes.
	MaxNameLen = 31
	// MinSecretLen and MaxSecretLen bound a secret key, printable ASCII.
	MinSecretLen = 6
	MaxSecretLen = 7
	// MaxSecrets is the maximum number of secrets of a game.
	MaxSecrets = 16
	// MaxTextLen bounds a title, a room's name and a field's value, in bytes.
	MaxTextLen = 255
	// MaxFieldKeyLen bounds the key of a room's field in bytes.
	MaxFieldKeyLen = 64
	// MaxRoomFields is the maximum number of further fields of a room.
	MaxRoomFields = 32
	// MaxRooms is the maximum number of rooms of a game.
	MaxRooms = 1000
	// MaxRoomCapacity is the greatest MaxWaiting of a room.
	MaxRoomCapacity = 1_000_000
	// MaxID is the greatest game id.
	MaxID = math.MaxInt32
	// MaxRecords is the maximum number of records of a list or layer.
	MaxRecords = 100_000
)

// noRoom ends a list of rooms on the wire, so no room may have this id.
const noRoom = 0xFFFFFFFF

// ValidName reports whether name can be the name of a game: 1 to MaxNameLen
// characters of a-z, 0-9, '_' and '-', with no '-' in front. Such a name is safe
// in a hosts file and in the text protocols; one game that was in use ends with '-'.
func ValidName(name string) bool {
	if name == "" || len(name) > MaxNameLen || name[0] == '-' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// check adds everything that is wrong with g, which may be a partial record, and
// reports whether nothing is.
func (g Game) check(p *problems) bool {
	before := p.total
	bad := func(format string, args ...any) { p.add(g.Source, g.Name, format, args...) }
	switch {
	case g.Name == "":
		bad("the name is missing")
	case !ValidName(g.Name):
		bad("the name must be 1 to %d characters of a-z, 0-9, _ and -, and must not start with -", MaxNameLen)
	}
	if reason := textProblem(g.Title, MaxTextLen); reason != "" {
		bad("the title %s", reason)
	}
	checkSecrets(g.Secrets, bad)
	if g.ID < 0 || g.ID > MaxID {
		bad("the id must be 0 to %d", MaxID)
	}
	checkRooms(g.Rooms, bad)
	checkBoards(g.Boards, bad)
	checkTables(g.Tables, bad)
	g.Facts.check(g.Name, bad)
	if p := g.Policy; max(p.StrictAvailability, p.NoSecure, p.StrictLegacyValidate, p.AutoAccept, p.SymmetricDelete, p.NoUserID, p.A2S, p.NoRelay, p.ZeroStats) > On {
		bad("the policy has a switch that is neither inherit, off nor on")
	}
	switch g.Policy.SecondLogin {
	case "", KickProfile, KickUser, AllowSecond:
	default:
		bad("the policy's second_login must be profile, user or allow")
	}
	return p.total == before
}

// checkSecrets names secrets by their place: their text must not reach a log.
func checkSecrets(secrets []string, bad func(string, ...any)) {
	if len(secrets) > MaxSecrets {
		bad("%d secrets, at most %d are allowed", len(secrets), MaxSecrets)
		return
	}
	for i, s := range secrets {
		switch {
		case len(s) < MinSecretLen || len(s) > MaxSecretLen:
			bad("secret %d has %d characters, want %d or %d", i+1, len(s), MinSecretLen, MaxSecretLen)
		case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
			bad("secret %d has a character that is not printable ASCII", i+1)
		case slices.Contains(secrets[:i], s):
			bad("secret %d repeats an earlier one", i+1)
		}
	}
}

func checkRooms(rooms []Room, bad func(string, ...any)) {
	if len(rooms) > MaxRooms {
		bad("%d rooms, at most %d are allowed", len(rooms), MaxRooms)
		return
	}
	for _, r := range rooms {
		badRoom := func(format string, args ...any) { bad("room %d: %s", r.ID, fmt.Sprintf(format, args...)) }
		if r.ID == 0 || r.ID == noRoom {
			badRoom("the id must be 1 to %d", uint32(noRoom-1))
		}
		if r.Name == "" {
			badRoom("the name is missing")
		} else if reason := textProblem(r.Name, MaxTextLen); reason != "" {
			badRoom("the name %s", reason)
		}
		if r.MaxWaiting < 0 || r.MaxWaiting > MaxRoomCapacity {
			badRoom("max_waiting must be 0 to %d", MaxRoomCapacity)
		}
		checkRoomFields(r.Fields, badRoom)
	}
}

func checkRoomFields(fields []Field, bad func(string, ...any)) {
	if len(fields) > MaxRoomFields {
		bad("%d fields, at most %d are allowed", len(fields), MaxRoomFields)
		return
	}
	if len(fields) == 0 {
		return
	}
	seen := make(map[string]bool, len(fields)) // clients ask without regard to case
	for _, f := range fields {
		key, folded := shorten(f.Key), ascii.ToLower(f.Key)
		switch reason := textProblem(f.Key, MaxFieldKeyLen); {
		case f.Key == "":
			bad("a field without a key")
		case reason != "":
			bad("the key %q %s", key, reason)
		case strings.ContainsRune(f.Key, '\\') || strings.ContainsRune(f.Value, '\\'):
			bad("field %q: a backslash is not allowed", key)
		case ownRoomKey(folded):
			bad("field %q belongs to the room itself", key)
		case seen[folded]:
			bad("field %q is there twice", key)
		}
		if reason := textProblem(f.Value, MaxTextLen); reason != "" {
			bad("the value of %q %s", key, reason)
		}
		seen[folded] = true
	}
}

// ownRoomKey reports whether a list fills in the key, which is in lower case, from
// the room's own data.
func ownRoomKey(key string) bool {
	switch key {
	case "groupid", "hostname", "numwaiting", "maxwaiting", "numservers", "numplayers":
		return true
	}
	return false
}

// textProblem returns the problem with text, or "".
func textProblem(s string, limit int) string {
	switch {
	case len(s) > limit:
		return fmt.Sprintf("is longer than %d bytes", limit)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "has a control character"
	}
	return ""
}
