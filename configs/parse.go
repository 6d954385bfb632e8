package configs

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The functions in this file parse the text of one value. Their errors are the
// second half of a sentence that starts with the key.

func parseText(text string) (string, error) {
	if strings.ContainsRune(text, 0) {
		return "", errors.New("holds a NUL character")
	}
	return text, nil
}

// Lengths of texts that pages show, in bytes.
const (
	maxLine      = 200
	maxParagraph = 2000
)

// parseLine accepts text for one line of a page.
func parseLine(text string) (string, error) {
	if text = strings.TrimSpace(text); strings.ContainsAny(text, "\r\n") {
		return "", errors.New("has more than one line")
	}
	return parseShown(text, maxLine)
}

// parseParagraph accepts text of several lines for a page.
func parseParagraph(text string) (string, error) {
	return parseShown(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), maxParagraph)
}

// parseShown accepts printable text of at most limit bytes.
func parseShown(text string, limit int) (string, error) {
	switch {
	case len(text) > limit:
		return "", fmt.Errorf("is longer than %d bytes", limit)
	case !utf8.ValidString(text):
		return "", errors.New("is not UTF-8")
	case strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }):
		return "", errors.New("holds a control character")
	}
	return text, nil
}

// Lengths of passwords in the configuration, in characters.
const (
	minPassword = 8
	maxPassword = 128
)

// parsePassword accepts passwords that can be sent as one word of a line. Its
// errors do not repeat the text.
func parsePassword(text string) (string, error) {
	switch {
	case text == "":
		return "", nil
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\'' || r == '\\' }):
		return "", errors.New("holds a blank, a quote, a backslash or a character that is not ASCII")
	case len(text) < minPassword || len(text) > maxPassword:
		return "", fmt.Errorf("is not %d to %d characters long", minPassword, maxPassword)
	}
	return text, nil
}

func parseDir(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("must not be empty")
	}
	return parseText(text)
}

func parseToggle(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, errors.New("is neither true nor false")
}

func parseChoice(text string, words []string) (string, error) {
	word := strings.ToLower(strings.TrimSpace(text))
	if slices.Contains(words, word) {
		return word, nil
	}
	return "", fmt.Errorf("is not one of %s", strings.Join(words, ", "))
}

// parseName accepts the name of a section. Whether it exists is checked later.
func parseName(text string) (string, error) { return strings.ToLower(strings.TrimSpace(text)), nil }

func parseNumber(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("is not a whole number from %d to %d", low, high)
	}
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("is out of range: %d to %d", low, high)
	}
	return n, nil
}

func parseSize(text string, low, high int) (int, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRight(text, " bikmgBIKMG")
	unit := 0
	switch strings.ToLower(strings.TrimSpace(text[len(digits):])) {
	case "", "b":
		unit = 1
	case "kib":
		unit = kib
	case "mib":
		unit = mib
	case "gib":
		unit = gib
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if unit == 0 {
		err = strconv.ErrSyntax
	}
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, errors.New("is not a size: write bytes, or a whole number with KiB, MiB or GiB")
	}
	// Dividing, because multiplying could overflow.
	if err != nil || n > uint64(high/unit) || int(n)*unit < low {
		return 0, fmt.Errorf("is out of range: %s to %s", formatSize(low), formatSize(high))
	}
	return int(n) * unit, nil
}

func formatSize(n int) string {
	switch {
	case n == 0 || n%kib != 0:
		return strconv.Itoa(n)
	case n%mib != 0:
		return strconv.Itoa(n/kib) + "KiB"
	case n%gib != 0:
		return strconv.Itoa(n/mib) + "MiB"
	default:
		return strconv.Itoa(n/gib) + "GiB"
	}
}

func parseDuration(text string, low, high time.Duration) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseFloat(text, 64); err == nil && n != 0 {
		return 0, errors.New("has no unit: write 500ms, 75s, 10m or 1h")
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("is not a duration: write 500ms, 75s, 10m or 1h")
	}
	if d < low || d > high {
		return 0, fmt.Errorf("is out of range: %s to %s", formatDuration(low), formatDuration(high))
	}
	return d, nil
}

// formatDuration is Duration.String without trailing zero units: 1h, not
// 1h0m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// parseListen checks an address for net.Listen. Names other than localhost are
// rejected: a misspelt IP address must not become a name to resolve.
func parseListen(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", errors.New("is not an address: write host:port, such as :27900, 127.0.0.1:27900 or [::1]:27900")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", errors.New("has a bad port: it is a number from 0 to 65535")
	}
	if host == "" || host == "localhost" {
		return text, nil
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return "", errors.New("has a bad host: it is an IP address, localhost, or nothing for all addresses")
	}
	return text, nil
}

// lowestRangePort is the lowest port of a range: those below belong to services of the
// system.
const lowestRangePort = 1024

// parsePorts checks a range of at least two ports and returns it as LOW-HIGH.
func parsePorts(text string) (string, error) {
	low, high, ok := strings.Cut(text, "-")
	first, errLow := parseNumber(low, lowestRangePort, 65535)
	last, errHigh := parseNumber(high, lowestRangePort, 65535)
	if !ok || errLow != nil || errHigh != nil || first >= last {
		return "", fmt.Errorf("is not a range of ports: write LOW-HIGH, such as 40000-40999, from %d to 65535", lowestRangePort)
	}
	return fmt.Sprintf("%d-%d", first, last), nil
}

func parseExtraListen(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("has an empty entry")
	}
	return parseListen(text)
}

// parseStatic reads a protocol and an address.
func parseStatic(text string) (StaticServer, error) {
	words := strings.Fields(text)
	if len(words) != 2 {
		return StaticServer{}, errors.New("is not a server: write a protocol and host:port, such as a2s 192.0.2.1:27015")
	}
	if !slices.Contains(StaticProtocols(), words[0]) {
		return StaticServer{}, fmt.Errorf("has a protocol that is not one of %s", strings.Join(StaticProtocols(), ", "))
	}
	address, err := ParseServerAddress(words[1])
	if err != nil {
		return StaticServer{}, err
	}
	return StaticServer{words[0], address}, nil
}

// lowestServerPort is the lowest port of a game server: those below belong to
// services of the system.
const lowestServerPort = 1024

// ParseServerAddress checks the host:port of a game server, an IPv4 address or a
// name, and returns it in lower case. The error is the second half of a sentence
// that starts with the address.
func ParseServerAddress(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", errors.New("has no address: write host:port, such as 192.0.2.1:27015")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n < lowestServerPort {
		return "", fmt.Errorf("has a bad port: it is a number from %d to 65535", lowestServerPort)
	}
	return joinMachine(host, port)
}

// joinMachine returns host:port if the host is the IPv4 address of a machine, or a name.
func joinMachine(host, port string) (string, error) {
	var name string
	bad := errors.New("has a bad host: it is the IPv4 address of a machine, or a name")
	if a, err := netip.ParseAddr(host); err == nil {
		if a = a.Unmap(); !a.Is4() || a.IsMulticast() || a.As4()[0] == 0 || a.As4()[0] >= 240 {
			return "", bad
		}
		name = a.String()
	} else if name, err = parseDomain(host); err != nil || strings.Trim(name, "0123456789.") == "" {
		return "", bad
	}
	return net.JoinHostPort(name, port), nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}, errors.New("is not a network: write 192.0.2.0/24, 2001:db8::/32 or a single address")
	}
	return p.Masked(), nil
}

func parsePublicURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return "", errors.New("is not a web address: write https://servers.example.org")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", errors.New("must hold no user, query or fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// parseDomain checks a domain name and returns it in lower case without a final
// dot.
func parseDomain(text string) (string, error) {
	name := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), ".")
	if len(name) > 253 {
		return "", errors.New("is too long for a domain name")
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return "", errors.New("is not a domain name, such as gamespy.com")
		}
	}
	return name, nil
}

func isLabel(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	return s != "" && len(s) <= 63 && s[0] != '-' && s[len(s)-1] != '-' &&
		strings.Trim(s, letters) == ""
}

// parseUpstream reads the address of a DNS server; the port may be missing.
func parseUpstream(text string) (netip.AddrPort, error) {
	const usual = 53
	text = strings.TrimSpace(text)
	a, err := netip.ParseAddrPort(text)
	if err != nil {
		var ip netip.Addr
		if ip, err = netip.ParseAddr(text); err == nil {
			a = netip.AddrPortFrom(ip, usual)
		}
	}
	a = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	if err != nil || a.Port() == 0 || a.Addr().IsUnspecified() || a.Addr().IsMulticast() {
		return netip.AddrPort{}, errors.New("is not the address of a DNS server: write 192.168.1.1 or 192.168.1.1:53")
	}
	return a, nil
}

// parseAdvertised parses the IPv4 address that clients get in place of another
// one; an empty text switches that off.
func parseAdvertised(text string) (netip.Addr, error) {
	if strings.TrimSpace(text) == "" {
		return netip.Addr{}, nil
	}
	a, err := netip.ParseAddr(strings.TrimSpace(text))
	if err != nil || !a.Unmap().Is4() || a.IsUnspecified() || a.IsMulticast() {
		return netip.Addr{}, errors.New("is not the IPv4 address of a machine")
	}
	return a.Unmap(), nil
}

// Advertised is an address under which game servers with a private or loopback
// address are listed for clients that cannot reach that.
type Advertised struct {
	From netip.Prefix // network of the servers, masked; the zero Prefix: all others
	As   netip.Addr   // IPv4
}

// String returns the entry as an operator writes it.
func (a Advertised) String() string {
	if !a.From.IsValid() {
		return a.As.String()
	}
	return a.From.String() + "=" + a.As.String()
}

// parseAdvertisedAs reads an address or NETWORK=ADDRESS.
func parseAdvertisedAs(text string) (a Advertised, err error) {
	address := text
	if network, as, found := strings.Cut(text, "="); found {
		address = as
		if a.From, err = parsePrefix(network); err != nil || !a.From.Addr().Is4() {
			return Advertised{}, errors.New("is not a network and an address: write 10.0.0.0/8=203.0.113.5")
		}
	}
	if a.As, err = parseAdvertised(address); err != nil || !a.As.IsValid() {
		return Advertised{}, errors.New("is not the IPv4 address of a machine, or a network and such an address: write 203.0.113.5 or 10.0.0.0/8=203.0.113.5")
	}
	return a, nil
}

// errPostgresURL reports a text that is not the URL of a database.
var errPostgresURL = errors.New("is not the address of a database: write postgres://USER:PASSWORD@db.example.org/DATABASE, special characters as %40")

// CheckPostgresURL returns an error for a text that is not the URL of a PostgreSQL
// database. The error does not quote it, because it may hold a password.
func CheckPostgresURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" || u.Fragment != "" {
		return errPostgresURL
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errPostgresURL
	}
	if u.Host == "" && q.Get("host") == "" {
		return errors.New("names no server: write it after the @, or a Unix socket as ?host=/run/postgresql")
	}
	if strings.Trim(u.Path, "/") == "" && q.Get("dbname") == "" && q.Get("database") == "" {
		return errors.New("names no database: write it after the server, as in postgres://db.example.org/respawnd")
	}
	return nil
}

// parsePostgresURL checks the URL of a database.
func parsePostgresURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", nil
	}
	return text, CheckPostgresURL(text)
}
