package gamefiles

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// FilesConfig is the part of section webservices of the configuration about files of
// games. The comment of each field explains its key.
type FilesConfig struct {
	// NAT helpers that Generals and Zero Hour are given, host or host:port, at most 4.
	// They determine how a player's router maps ports if the helpers have three addresses
	// or more. Empty: this machine, while mangler runs.
	Manglers []string `key:"manglers" as:"text" live:"true"`
	// Hosts that these games ping to match players who are close to each other, at
	// most 8. Empty: this machine.
	PingServers []string `key:"ping_servers" as:"text" live:"true"`
	// Ladders of these games: the lines from <Ladders> to </Ladders> of their
	// config.txt, at most 8 KiB of ASCII. Empty: none.
	Ladders string `key:"ladders" as:"text" live:"true"`
}

// Bounds of FilesConfig.
const (
	maxManglers    = 4
	maxPingServers = 8
	maxLadders     = 8 << 10
	maxHost        = 190
)

// manglerPort is where games look for a NAT helper, whatever port its name has.
const manglerPort = 4321

// CheckFiles returns the mistake in the configuration.
func (c *FilesConfig) CheckFiles() error {
	if len(c.Manglers) > maxManglers {
		return fmt.Errorf("webservices.manglers: %d entries, at most %d are allowed", len(c.Manglers), maxManglers)
	}
	for _, m := range c.Manglers {
		if _, ok := manglerAt(m); !ok {
			return fmt.Errorf("webservices.manglers: %.80q is not a host or host:port", m)
		}
	}
	if len(c.PingServers) > maxPingServers {
		return fmt.Errorf("webservices.ping_servers: %d entries, at most %d are allowed", len(c.PingServers), maxPingServers)
	}
	for _, h := range c.PingServers {
		if !validHost(h) {
			return fmt.Errorf("webservices.ping_servers: %.80q is not a host", h)
		}
	}
	return checkLadders(c.Ladders)
}

// checkLadders reports texts that would change other parts of the file.
func checkLadders(text string) error {
	if len(text) > maxLadders {
		return fmt.Errorf("webservices.ladders: %d bytes, at most %d are allowed", len(text), maxLadders)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.ContainsFunc(line, func(r rune) bool { return r > '~' || r < ' ' && r != '\t' }) {
			return fmt.Errorf("webservices.ladders: the line %.80q is not printable ASCII", line)
		}
		tag, isTag := strings.CutPrefix(strings.TrimSpace(line), "<")
		tag, _, _ = strings.Cut(strings.TrimPrefix(tag, "/"), " ")
		switch strings.TrimSuffix(tag, ">") {
		case "Ladders", "SpecialLadders", "Ladder":
		default:
			if isTag {
				return fmt.Errorf("webservices.ladders: %.80q is not a part of ladders", line)
			}
		}
	}
	return nil
}

// manglerAt returns a helper in the form of the file: host:port.
func manglerAt(s string) (string, bool) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return net.JoinHostPort(s, strconv.Itoa(manglerPort)), validHost(s)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return s, err == nil && n > 0 && validHost(host)
}

// validHost reports whether a text is an IPv4 address or can be a host name. Files are read line by
// line, so nothing else may be in it.
func validHost(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Is4()
	}
	if s == "" || len(s) > maxHost || s[0] == '-' || s[0] == '.' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return !letter && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	})
}
