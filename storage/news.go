package storage

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"strings"
	"time"
)

// Limits of a Motd and a Patch.
const (
	MaxMotds       = 4096 // MaxMotds is how many messages of the day there may be.
	MaxPatches     = 4096 // MaxPatches is how many patches there may be.
	MaxNewsValue   = 2047 // MaxNewsValue is the longest value in bytes; clients have a buffer of 2048.
	MaxVersion     = 255  // MaxVersion is the longest version in bytes.
	MaxMotdGame    = 64   // MaxMotdGame is the longest name of a game in bytes.
	maxPatchNumber = 1<<31 - 1
)

// Motd is the message of the day of a game. Game is its key.
type Motd struct {
	Game string    `json:"game"`
	Text string    `json:"text"` // may have several lines
	By   string    `json:"by,omitzero"`
	Set  time.Time `json:"set,omitzero"`
}

// PatchID identifies a Patch: the product and the version that it replaces, both as
// clients send them.
type PatchID struct {
	Product int    `json:"product"`
	Version string `json:"version"`
}

// Patch is a newer version that is announced to clients of one version.
type Patch struct {
	PatchID

	Name    string    `json:"name"`             // of the newer version
	File    int       `json:"file,omitzero"`    // number for a mirror list
	URL     string    `json:"url,omitzero"`     // where it can be downloaded
	Lockout bool      `json:"lockout,omitzero"` // the game must not be played online without it
	By      string    `json:"by,omitzero"`
	Added   time.Time `json:"added,omitzero"`
}

// Compare orders ids by product and version.
func (id PatchID) Compare(other PatchID) int {
	return cmp.Or(cmp.Compare(id.Product, other.Product), cmp.Compare(id.Version, other.Version))
}

// Check returns an error that matches ErrInvalid for an id that cannot be stored.
func (id PatchID) Check() error {
	if id.Product < 0 || id.Product > maxPatchNumber {
		return invalid("%d is not the number of a product", id.Product)
	}
	return checkName("version", id.Version, MaxVersion)
}

// CheckMotdText returns an error that matches ErrInvalid for a text that cannot be a
// message of the day.
func CheckMotdText(text string) error {
	if len(text) > MaxNewsValue {
		return invalid("the message of the day is longer than %d bytes", MaxNewsValue)
	}
	if strings.Contains(text, `\`) {
		return invalid("the message of the day has a backslash")
	}
	return checkText("message of the day", strings.ReplaceAll(text, "\n", " "), MaxNewsValue)
}

// Canonical returns m as it is stored. The error matches ErrInvalid.
func (m Motd) Canonical() (Motd, error) {
	m.Text = strings.ReplaceAll(m.Text, "\r\n", "\n")
	if m.Text == "" {
		return Motd{}, invalid("the message of the day is empty")
	}
	m.Set = m.Set.Round(0).UTC()
	return m, cmp.Or(checkName("game of the message", m.Game, MaxMotdGame), CheckMotdText(m.Text),
		checkText("author of the message", m.By, MaxListingBy))
}

// Canonical returns p as it is stored. The error matches ErrInvalid.
func (p Patch) Canonical() (Patch, error) {
	switch {
	case strings.Contains(p.Name+p.URL, `\`):
		return Patch{}, invalid("the patch has a backslash, which ends a value")
	case p.File < 0 || p.File > maxPatchNumber:
		return Patch{}, invalid("%d is not the number of a file", p.File)
	}
	p.Added = p.Added.Round(0).UTC()
	return p, cmp.Or(p.Check(), checkName("name of the patch", p.Name, MaxNewsValue), checkPatchURL(p.URL),
		checkText("author of the patch", p.By, MaxListingBy))
}

// checkPatchURL returns an error for a text that is not empty and not an address that
// games can download from.
func checkPatchURL(text string) error {
	if text == "" {
		return nil
	}
	if err := checkText("address of the patch", text, MaxNewsValue); err != nil {
		return err
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ftp" || strings.Contains(text, " ") {
		return invalid("address of the patch %.60q is not like http://example.org/patch.exe", text)
	}
	return nil
}

// News keeps the messages of the day and the patches that games show at their start.
type News interface {
	// PutMotd stores a message in place of that of the same game. The error is
	// ErrFull if there would be more than MaxMotds.
	PutMotd(ctx context.Context, m Motd) error

	// RemoveMotd removes the message of a game. The error is ErrNotFound if there is
	// none.
	RemoveMotd(ctx context.Context, game string) error

	// Motds yields all messages in the order of games.
	Motds(ctx context.Context) iter.Seq2[Motd, error]

	// PutPatch stores a patch in place of the one with the same id. The error is
	// ErrFull if there would be more than MaxPatches.
	PutPatch(ctx context.Context, p Patch) error

	// RemovePatch removes a patch. The error is ErrNotFound if there is none.
	RemovePatch(ctx context.Context, id PatchID) error

	// Patches yields all patches in the order of their ids.
	Patches(ctx context.Context) iter.Seq2[Patch, error]
}
