package configs

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// OtherMaster is another master whose servers are listed here too.
type OtherMaster struct {
	Protocol string // one of MasterProtocols
	Address  string // host:port; the URL of a list; of respawnd and 333json that of the pages without a final slash
	Name     string // in pages, metrics and the log; never empty
	Game     string // whose servers it is asked for; empty: all, where the protocol can

	Enctype  int    // of gamespy: encryption of the list, 0 to 2
	CMP      bool   // of gamespy: the compact form of the list
	As       string // of serverbrowse: the game as which it asks; empty: Game
	Filter   string // of serverbrowse, gamespy and valve
	Number   int    // of q3, codmaster and idmaster: the protocol of the game
	Query    string // protocol in which its servers are queried; empty: that of the master
	Verified bool   // of respawnd: its servers are listed without a query of our own
	Offset   int    // of lists at a URL: from the ports there to those that are queried

	// Of jsonlist: where the array is, names with dots between, empty: it is all; and the
	// names of the address and the port in each object.
	At, HostField, PortField string

	text string
}

// String returns the entry as the configuration spells it.
func (m OtherMaster) String() string { return m.text }

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
	maxMasterWord  = 255 // of a game or a filter
	masterExamples = "such as q3 dpmaster.example.org:27950 game=Xonotic protocol=3"
)

// masterForm describes the fields that an entry of a protocol may have.
type masterForm struct {
	protocol string
	port     string   // usual one; empty: the address is a URL
	needs    []string // options that it must have
	options  []string // further ones
	page     bool     // the URL is that of the list, with a query
}

func masterForms() []masterForm {
	game, number := []string{"game"}, []string{"game", "protocol"}
	return []masterForm{
		{protocol: "gamespy", port: "28900", needs: game, options: []string{"enctype", "list", "filter", "query"}},
		{protocol: "serverbrowse", port: "28910", needs: game, options: []string{"as", "filter", "query"}},
		{protocol: "zandronum", port: "15300"},
		{protocol: "valve", port: "27011", options: []string{"filter"}},
		{protocol: "q3", port: "27950", needs: []string{"protocol"}, options: game},
		{protocol: "codmaster", port: "20510", needs: number},
		{protocol: "cod4x", port: "20810", needs: game},
		{protocol: "idmaster", port: "27650", needs: []string{"protocol"}, options: game},
		{protocol: "utmaster", port: "28902", needs: game, options: []string{"query"}},
		{protocol: "q2", port: "27900", options: game},
		{protocol: "qw", port: "27000", options: game},
		{protocol: "333sync", port: "28900", options: []string{"game", "query"}},
		{protocol: "333json", needs: game, options: []string{"query", "offset"}},
		{protocol: "textlist", needs: []string{"query"}, options: []string{"game", "offset"}, page: true},
		{protocol: "jsonlist", needs: []string{"query"}, options: []string{"game", "offset", "at", "host", "port"}, page: true},
		{protocol: "respawnd", options: []string{"game", "verified"}},
	}
}

// MasterProtocols returns the protocols in which other masters are read.
func MasterProtocols() (words []string) {
	for _, f := range masterForms() {
		words = append(words, f.protocol)
	}
	return words
}

// ParseOtherMaster reads an entry of federation.masters: a protocol, an address, and
// options.
func ParseOtherMaster(text string) (m OtherMaster, err error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return m, errors.New("is not a master: write a protocol, an address and options, " + masterExamples)
	}
	i := slices.IndexFunc(masterForms(), func(f masterForm) bool { return f.protocol == words[0] })
	if i < 0 {
		return m, fmt.Errorf("has the unknown protocol %s; known: %s", quote(words[0]), strings.Join(MasterProtocols(), ", "))
	}
	form := masterForms()[i]
	m = OtherMaster{Protocol: form.protocol, CMP: true, text: strings.Join(words, " ")}
	form.usual(&m)
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
			return m, fmt.Errorf("has the unknown option %s; a %s master has %s", quote(key), form.protocol, strings.Join(form.all(), ", "))
		}
		seen[key] = true
		if err := m.set(key, value); err != nil {
			return m, fmt.Errorf("has a bad option %s: %w", key, err)
		}
	}
	return m, m.finish(&form, seen)
}

// all returns the options of the form.
func (f *masterForm) all() []string { return slices.Concat([]string{"name"}, f.needs, f.options) }

// usual sets the usual values of options.
func (f *masterForm) usual(m *OtherMaster) {
	switch f.protocol {
	case "jsonlist":
		m.HostField, m.PortField = "ip", "port"
	case "333json":
		m.Offset = 1
	}
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
func (f *masterForm) address(text string) (string, error) {
	if f.page {
		return page(text)
	}
	if f.port == "" {
		base, err := parsePublicURL(text)
		if err != nil {
			return "", errors.New("has an address that " + err.Error())
		}
		return base, nil
	}
	if _, _, err := net.SplitHostPort(text); err != nil {
		text = net.JoinHostPort(text, f.port)
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

// set reads the value of an option.
func (m *OtherMaster) set(key, value string) (err error) {
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
		m.Number, err = m.parseProtocol(value)
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
	}
	return err
}

// parseProtocol reads the protocol of a game: a number; of idmaster two, such as 1.41.
func (m *OtherMaster) parseProtocol(text string) (int, error) {
	if m.Protocol != "idmaster" {
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
	"query":    "names no protocol in which its servers answer: add query=NAME",
}

// finish checks the entry as a whole, and names it if it has no name.
func (m *OtherMaster) finish(form *masterForm, seen map[string]bool) error {
	for _, key := range form.needs {
		if !seen[key] {
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
