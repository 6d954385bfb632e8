package configs

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// OtherMaster is another master whose servers are listed here too.
type OtherMaster struct {
	Protocol string // one of MasterProtocols
	Address  string // host:port; the URL of a list, or that of pages, without a final slash; or a folder
	Name     string // in pages, metrics and the log; never empty
	Game     string // whose servers it is asked for; empty: all, where the protocol can

	// Options that entries of some protocols have, see MasterForm.
	Enctype  int    // encryption of the list, 0 to 2
	CMP      bool   // the compact form of the list
	As       string // the game as which it asks; empty: Game
	Filter   string
	Number   int    // the protocol of the game
	Query    string // protocol in which its servers are queried; empty: that of the master
	Verified bool   // its servers are listed without a query of our own
	Offset   int    // of lists at a URL: from the ports there to those that are queried

	// Of a list in JSON: where the array is, names with dots between, empty: it is all; and
	// the names of the address and the port in each object.
	At, HostField, PortField string

	// Of a folder with a list: the public key that signed it, and how old it may be.
	Key        string
	RestoreFor time.Duration

	text string
}

// String returns the entry as the configuration spells it.
func (m OtherMaster) String() string { return m.text }

// IsFolder reports whether the address is a folder of this machine.
func (m *OtherMaster) IsFolder() bool { return filepath.IsAbs(m.Address) }

// Host returns the host of the address.
func (m *OtherMaster) Host() string {
	if u, err := url.Parse(m.Address); err == nil && u.Host != "" {
		return u.Hostname()
	}
	host, _, _ := net.SplitHostPort(m.Address)
	return host
}

// lanName is the name of a master that may list servers with private addresses.
const lanName = "lan"

// IsLAN reports whether the master may list servers with private addresses, and be at
// one by name.
func (m *OtherMaster) IsLAN() bool {
	return m.Name == lanName || strings.HasPrefix(m.Name, lanName+"-")
}

const (
	maxMasterName  = 64
	maxRestore     = 30 * 24 * time.Hour
	maxMasterWord  = 255 // of a game or a filter
	masterExamples = "such as q3 dpmaster.example.org:27950 game=Xonotic protocol=3"
)

// MasterForm describes the entries for masters of a protocol. An option is its name and what stands for
// its value in the documentation, such as enctype=0.
type MasterForm struct {
	Protocol string
	Port     string      // usual one; empty: the address is a URL
	Needs    []string    // options that an entry must have
	Options  []string    // further ones
	Page     bool        // the URL is that of the list, with a query
	Folder   bool        // the URL is that of a folder, which may be one of this machine
	Version  bool        // the protocol of the game is a version, such as 1.41
	Usual    OtherMaster // values of options that an entry leaves out
}

// masterForms are those of all protocols, by name.
var masterForms = make(map[string]MasterForm)

// DeclareMaster makes a protocol known in which other masters are read. It is called while packages are
// initialized, and returns something so that a variable can be its caller.
func DeclareMaster(f MasterForm) struct{} {
	masterForms[f.Protocol] = f
	return struct{}{}
}

// MasterProtocols returns the protocols in which other masters are read.
func MasterProtocols() []string { return slices.Sorted(maps.Keys(masterForms)) }

// MasterLines returns the form of each protocol, as in "q2 HOST[:27900] [game=GAME]".
func MasterLines() (lines []string) {
	for _, p := range MasterProtocols() {
		f := masterForms[p]
		where := "https://HOST"
		switch {
		case f.Page:
			where = "URL"
		case f.Folder:
			where = "FOLDER-OR-URL"
		case f.Port != "":
			where = "HOST[:" + f.Port + "]"
		}
		words := append([]string{p, where}, f.Needs...)
		for _, o := range f.Options {
			words = append(words, "["+o+"]")
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// ParseOtherMaster reads an entry of federation.masters: a protocol, an address, and
// options.
func ParseOtherMaster(text string) (m OtherMaster, err error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return m, errors.New("is not a master: write a protocol, an address and options, " + masterExamples)
	}
	form, known := masterForms[words[0]]
	if !known {
		return m, fmt.Errorf("has the unknown protocol %s; known: %s", quote(words[0]), strings.Join(MasterProtocols(), ", "))
	}
	m = form.Usual
	m.Protocol, m.CMP, m.text = form.Protocol, true, strings.Join(words, " ")
	if m.Address, err = form.address(words[1]); err != nil {
		return m, err
	}
	seen := make(map[string]bool)
	for _, word := range words[2:] {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case !ok || value == "":
			return m, fmt.Errorf("has %s, which is not an option: write name=value", quote(word))
		case seen[key]:
			return m, fmt.Errorf("has the option %s twice", quote(key))
		case !slices.Contains(form.all(), key):
			return m, fmt.Errorf("has the unknown option %s; a %s master has %s", quote(key), form.Protocol, strings.Join(form.all(), ", "))
		}
		seen[key] = true
		if err := m.set(key, value, form.Version); err != nil {
			return m, fmt.Errorf("has a bad option %s: %w", key, err)
		}
	}
	return m, m.finish(&form, seen)
}

// all returns the names of the options of the form.
func (f *MasterForm) all() []string {
	names := []string{"name"}
	for _, o := range slices.Concat(f.Needs, f.Options) {
		name, _, _ := strings.Cut(o, "=")
		names = append(names, name)
	}
	return names
}

// page checks the URL of a list.
func page(text string) (string, error) {
	text, query, asks := strings.Cut(text, "?")
	base, err := parsePublicURL(text)
	switch {
	case err != nil:
		return "", errors.New("has an address that " + err.Error())
	case base == "":
		return "", errors.New("has no address: write its URL")
	case asks:
		base += "?" + query
	}
	if _, err := url.Parse(base); err != nil || strings.Contains(query, "#") {
		return "", errors.New("has an address that is not a web address")
	}
	return base, nil
}

// address checks the address of a master and adds the usual port.
func (f *MasterForm) address(text string) (string, error) {
	if f.Page {
		return page(text)
	}
	if f.Folder && filepath.IsAbs(text) {
		return filepath.Clean(text), nil
	}
	if f.Port == "" {
		base, err := parsePublicURL(text)
		if err != nil {
			return "", errors.New("has an address that " + err.Error())
		}
		return base, nil
	}
	if _, _, err := net.SplitHostPort(text); err != nil {
		text = net.JoinHostPort(text, f.Port)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", errors.New("has no address: write host:port")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errors.New("has a bad port: it is a number from 1 to 65535")
	}
	return joinMachine(host, port)
}

// set reads the value of an option. version reports that the protocol of a game is one.
func (m *OtherMaster) set(key, value string, version bool) (err error) {
	switch key {
	case "name":
		m.Name = value
		if !isMasterName(value) {
			return fmt.Errorf("it takes 1 to %d letters, digits and . _ - / : in any order", maxMasterName)
		}
	case "game":
		m.Game, err = masterWord(value)
	case "as":
		m.As, err = masterWord(value)
	case "filter":
		if len(value) > maxMasterWord || strings.ContainsFunc(value, func(r rune) bool { return r < '!' || r > '~' }) {
			return fmt.Errorf("it takes up to %d visible characters", maxMasterWord)
		}
		m.Filter = value
	case "enctype":
		m.Enctype, err = parseNumber(value, 0, 2)
	case "protocol":
		m.Number, err = parseProtocol(value, version)
	case "offset":
		m.Offset, err = parseNumber(value, -1<<16, 1<<16)
	case "at":
		m.At, err = masterWord(value)
	case "host":
		m.HostField, err = masterWord(value)
	case "port":
		m.PortField, err = masterWord(value)
	case "list":
		_, err = parseChoice(value, []string{"cmp", "plain"})
		m.CMP = value == "cmp"
	case "query":
		m.Query, err = parseChoice(value, StaticProtocols())
	case "verified":
		m.Verified, err = parseToggle(value)
	case "key":
		m.Key = value
		if b, bad := base64.RawURLEncoding.DecodeString(value); bad != nil || len(b) != ed25519.PublicKeySize {
			err = errors.New("it takes the 43 characters that `respawnd snapshot key` prints")
		}
	case "restore_for":
		m.RestoreFor, err = parseDuration(value, time.Minute, maxRestore)
	}
	return err
}

// parseProtocol reads the protocol of a game: a number, or a version such as 1.41.
func parseProtocol(text string, version bool) (int, error) {
	if !version {
		return parseNumber(text, 0, 1<<31-1)
	}
	major, minor, _ := strings.Cut(text, ".")
	high, err := parseNumber(major, 0, 1<<15-1)
	if err != nil {
		return 0, err
	}
	low, err := parseNumber(minor, 0, 1<<16-1)
	return high<<16 | low, err
}

// missing are the mistakes of entries without an option that they need.
var missing = map[string]string{
	"game":     "names no game: add game=NAME",
	"protocol": "names no protocol of the game: add protocol=NUMBER",
	"key":      "has no key: add key= and what `respawnd snapshot key` prints on the machine that writes it",
	"query":    "names no protocol in which its servers answer: add query=NAME",
}

// finish checks the entry as a whole, and names it if it has no name.
func (m *OtherMaster) finish(form *MasterForm, seen map[string]bool) error {
	for _, o := range form.Needs {
		if key, _, _ := strings.Cut(o, "="); !seen[key] {
			return errors.New(missing[key])
		}
	}
	if m.Name == "" {
		m.Name = strings.TrimSuffix(m.Host()+"/"+m.Game, "/")
		if !isMasterName(m.Name) {
			m.Name = m.Host()
		}
		if !isMasterName(m.Name) {
			return errors.New("needs a short name: add name=NAME")
		}
	}
	return nil
}

func isMasterName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:"
	return s != "" && len(s) <= maxMasterName && strings.Trim(s, letters) == ""
}

// masterWord checks the name of a game as a protocol spells it.
func masterWord(s string) (string, error) {
	if len(s) > maxMasterWord || strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' || r == '\\' || r == '"' || r == ';' }) {
		return "", errors.New("it is not the name of a game")
	}
	return s, nil
}
