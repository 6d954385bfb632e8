package configs

import (
	"fmt"
	"strings"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30

	// maxEntries is how many entries a list value may have.
	maxEntries = 256
)

// key is one thing that can be set.
type key struct {
	name    string
	allowed string // the range in words, as default.yaml states it; may be empty
	list    bool   // several values
	nested  bool   // one value, which is YAML
	secret  bool   // the value is not repeated in messages
	live    bool   // a running daemon takes it over when it reads its configuration again
	field   any    // pointer to the field

	// set parses text and stores it in the field. For a list it is called once
	// per entry and appends. After an error the field is unchanged.
	set func(text string) error
}

// variable returns the name of the environment variable of k.
func (k key) variable() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
}

// keys returns every key, bound to its field of c, in the order of default.yaml.
func (c *Config) keys() []key {
	const (
		many  = 10_000_000 // limit of limits on servers and hosts
		conns = 1_000_000  // limit of limits on connections and rates
	)
	return []key{
		one("data_dir", &c.DataDir, parseDir),

		choice("log.level", &c.Log.Level, "trace", "debug", "info", "warn", "error"),
		choice("log.format", &c.Log.Format, "auto", "console", "json"),

		several("net.trusted", &c.Net.Trusted, parsePrefix).reloads(),

		one("qr2.listen", &c.QR2.Listen, parseListen),
		number("qr2.sockets", &c.QR2.Sockets, 1, 64),
		number("qr2.readers", &c.QR2.Readers, 1, 64),
		size("qr2.read_buffer", &c.QR2.ReadBuffer, 4*kib, gib),
		number("qr2.max_pending", &c.QR2.MaxPending, 1, many).reloads(),
		number("qr2.unproved_rate", &c.QR2.UnprovedRate, 1, conns).reloads(),
		number("qr2.unproved_burst", &c.QR2.UnprovedBurst, 1, conns).reloads(),
		toggle("qr2.strict_availability", &c.QR2.StrictAvailability).reloads(),
		toggle("qr2.maintenance", &c.QR2.Maintenance).reloads(),
		toggle("qr2.adderror", &c.QR2.AddError).reloads(),
		toggle("qr2.probe", &c.QR2.Probe),
		duration("qr2.expire", &c.QR2.Expire, 30*time.Second, time.Hour).reloads(),

		number("master.max_servers", &c.Master.MaxServers, 1, many).reloads(),
		number("master.max_per_addr", &c.Master.MaxPerAddr, 1, many).reloads(),
		number("master.max_per_net", &c.Master.MaxPerNet, 1, many).reloads(),
		duration("master.save_every", &c.Master.SaveEvery, time.Second, time.Hour).reloads(),
		duration("master.restore_for", &c.Master.RestoreFor, 0, time.Hour),

		one("serverbrowse.listen", &c.ServerBrowse.Listen, parseListen),
		number("serverbrowse.max_conns", &c.ServerBrowse.MaxConns, 1, conns).reloads(),
		number("serverbrowse.max_per_addr", &c.ServerBrowse.MaxPerAddr, 1, conns).reloads(),
		number("serverbrowse.rate", &c.ServerBrowse.Rate, 1, conns).reloads(),
		number("serverbrowse.burst", &c.ServerBrowse.Burst, 1, conns).reloads(),
		duration("serverbrowse.first_byte", &c.ServerBrowse.FirstByte, time.Second, 5*time.Minute),
		duration("serverbrowse.idle", &c.ServerBrowse.Idle, 5*time.Second, 24*time.Hour),
		duration("serverbrowse.write", &c.ServerBrowse.Write, time.Second, 5*time.Minute),
		duration("serverbrowse.keepalive", &c.ServerBrowse.KeepAlive, 5*time.Second, time.Hour),
		number("serverbrowse.max_filter", &c.ServerBrowse.MaxFilter, 16, 1024),
		toggle("serverbrowse.push", &c.ServerBrowse.Push),
		number("serverbrowse.message_rate", &c.ServerBrowse.MessageRate, 1, 10_000),
		number("serverbrowse.message_burst", &c.ServerBrowse.MessageBurst, 1, 10_000),
		toggle("serverbrowse.lenient_filter", &c.ServerBrowse.LenientFilter),

		one("legacylist.listen", &c.LegacyList.Listen, parseListen),
		number("legacylist.max_conns", &c.LegacyList.MaxConns, 1, conns).reloads(),
		number("legacylist.max_per_addr", &c.LegacyList.MaxPerAddr, 1, conns).reloads(),
		number("legacylist.rate", &c.LegacyList.Rate, 1, conns).reloads(),
		number("legacylist.burst", &c.LegacyList.Burst, 1, conns).reloads(),
		duration("legacylist.request_time", &c.LegacyList.RequestTime, time.Second, time.Minute),
		toggle("legacylist.strict_validate", &c.LegacyList.StrictValidate),
		toggle("legacylist.lenient_filter", &c.LegacyList.LenientFilter),

		one("accounts.key_file", &c.Accounts.KeyFile, parseText),
		toggle("accounts.keep_passwords", &c.Accounts.KeepPasswords),

		one("gpcm.listen", &c.GPCM.Listen, parseListen),
		number("gpcm.max_conns", &c.GPCM.MaxConns, 1, conns).reloads(),
		number("gpcm.max_per_addr", &c.GPCM.MaxPerAddr, 1, conns).reloads(),
		number("gpcm.rate", &c.GPCM.Rate, 1, conns).reloads(),
		number("gpcm.burst", &c.GPCM.Burst, 1, conns).reloads(),
		duration("gpcm.login_time", &c.GPCM.LoginTime, 5*time.Second, 10*time.Minute),
		duration("gpcm.keepalive", &c.GPCM.KeepAlive, 5*time.Second, 115*time.Second),
		duration("gpcm.write", &c.GPCM.Write, time.Second, 10*time.Minute),
		duration("gpcm.ticket_renewal", &c.GPCM.TicketRenewal, time.Minute, 47*time.Hour),
		number("gpcm.registrations", &c.GPCM.Registrations, 0, conns).reloads(),
		choice("gpcm.second_login", &c.GPCM.SecondLogin, "profile", "user", "allow").reloads(),
		toggle("gpcm.auto_accept", &c.GPCM.AutoAccept).reloads(),
		toggle("gpcm.symmetric_delete", &c.GPCM.SymmetricDelete).reloads(),
		toggle("gpcm.no_user_id", &c.GPCM.NoUserID).reloads(),

		one("gpsp.listen", &c.GPSP.Listen, parseListen),
		number("gpsp.max_conns", &c.GPSP.MaxConns, 1, conns).reloads(),
		number("gpsp.max_per_addr", &c.GPSP.MaxPerAddr, 1, conns).reloads(),
		number("gpsp.rate", &c.GPSP.Rate, 1, conns).reloads(),
		number("gpsp.burst", &c.GPSP.Burst, 1, conns).reloads(),
		duration("gpsp.idle", &c.GPSP.Idle, 5*time.Second, 10*time.Minute),
		duration("gpsp.write", &c.GPSP.Write, time.Second, 10*time.Minute),
		number("gpsp.lookups", &c.GPSP.Lookups, 0, conns).reloads(),
		number("gpsp.registrations", &c.GPSP.Registrations, 0, conns).reloads(),
		toggle("gpsp.private", &c.GPSP.Private).reloads(),

		one("natneg.listen", &c.NATNeg.Listen, parseListen),
		several("natneg.extra_listen", &c.NATNeg.ExtraListen, parseExtraListen),
		number("natneg.max_open", &c.NATNeg.MaxOpen, 1, many).reloads(),
		number("natneg.max_per_addr", &c.NATNeg.MaxPerAddr, 1, many).reloads(),
		number("natneg.rate", &c.NATNeg.Rate, 1, conns).reloads(),
		number("natneg.burst", &c.NATNeg.Burst, 1, conns).reloads(),
		toggle("natneg.assume_unrestricted", &c.NATNeg.AssumeUnrestricted).reloads(),
		one("zanmaster.listen", &c.ZanMaster.Listen, parseListen),
		number("zanmaster.sockets", &c.ZanMaster.Sockets, 1, 64),
		number("zanmaster.readers", &c.ZanMaster.Readers, 1, 64),
		size("zanmaster.read_buffer", &c.ZanMaster.ReadBuffer, 4*kib, gib),
		one("zanmaster.ban_files", &c.ZanMaster.BanFiles, parseText),
		duration("zanmaster.ban_files_poll", &c.ZanMaster.BanFilesPoll, 0, time.Hour),
		choice("zanmaster.not_enforcing", &c.ZanMaster.NotEnforcing, "hide", "show", "mark").reloads(),
		number("zanmaster.servers_per_address", &c.ZanMaster.ServersPerAddress, 0, 65535).reloads(),
		duration("zanmaster.timeout", &c.ZanMaster.Timeout, 61*time.Second, 10*time.Minute).reloads(),
		number("zanmaster.max_pending", &c.ZanMaster.MaxPending, 1, many).reloads(),
		number("zanmaster.unproved_rate", &c.ZanMaster.UnprovedRate, 1, conns).reloads(),
		number("zanmaster.unproved_burst", &c.ZanMaster.UnprovedBurst, 1, conns).reloads(),
		toggle("zanmaster.old_list", &c.ZanMaster.OldList).reloads(),
		duration("zanmaster.list_window", &c.ZanMaster.ListWindow, 0, 10*time.Minute).reloads(),
		number("zanmaster.lists_per_net", &c.ZanMaster.ListsPerNet, 0, many).reloads(),
		number("zanmaster.lists_total", &c.ZanMaster.ListsTotal, 0, many).reloads(),
		one("zanmaster.advertise_as", &c.ZanMaster.AdvertiseAs, parseAdvertised).reloads(),
		several("zanmaster.allow_servers", &c.ZanMaster.AllowServers, parsePrefix).reloads(),
		several("zanmaster.allow_launchers", &c.ZanMaster.AllowLaunchers, parsePrefix).reloads(),
		toggle("zanmaster.query", &c.ZanMaster.Query).reloads(),
		duration("zanmaster.query_every", &c.ZanMaster.QueryEvery, time.Minute, time.Hour).reloads(),

		toggle("lan.discover", &c.LAN.Discover),
		duration("lan.every", &c.LAN.Every, 5*time.Second, time.Hour),

		duration("probe.every", &c.Probe.Every, 10*time.Second, time.Hour).reloads(),
		number("probe.rate", &c.Probe.Rate, 1, 10_000).reloads(),
		number("probe.max_servers", &c.Probe.MaxServers, 1, many).reloads(),
		number("probe.max_games", &c.Probe.MaxGames, 1, conns).reloads(),
		several("servers.static", &c.Servers.Static, parseStatic).reloads(),

		one("web.listen", &c.Web.Listen, parseListen),
		one("web.public_url", &c.Web.PublicURL, parsePublicURL),
		one("web.game_address", &c.Web.GameAddress, parseAdvertised),
		toggle("web.accounts", &c.Web.Accounts).reloads(),
		number("web.forms", &c.Web.Forms, 0, conns).reloads(),
		number("web.registrations", &c.Web.Registrations, 0, conns).reloads(),
		number("web.max_conns", &c.Web.MaxConns, 1, conns),
		number("web.max_per_addr", &c.Web.MaxPerAddr, 1, conns),
		number("web.rate", &c.Web.Rate, 0, conns).reloads(),
		number("web.burst", &c.Web.Burst, 1, conns).reloads(),
		several("web.trusted_proxies", &c.Web.TrustedProxies, parsePrefix).reloads(),
		number("web.max_streams", &c.Web.MaxStreams, 1, conns).reloads(),
		number("web.max_streams_per_addr", &c.Web.MaxStreamsPerAddr, 1, conns).reloads(),

		one("admin.listen", &c.Admin.Listen, parseListen),
		one("admin.token_file", &c.Admin.TokenFile, parseText),
		several("admin.names", &c.Admin.Names, parseDomain),
		number("admin.audit_entries", &c.Admin.AuditEntries, 100, 1_000_000).reloads(),
		number("admin.log_lines", &c.Admin.LogLines, 10, 100_000),
		nested("webhooks", &c.Webhooks, parseWebhooks).reloads(),

		one("ssq.listen", &c.SSQ.Listen, parseListen),
		secret("ssq.password", &c.SSQ.Password, parsePassword).reloads(),
		size("ssq.bytes_per_addr", &c.SSQ.BytesPerAddr, 4*kib, gib).reloads(),
		size("ssq.bytes_per_net", &c.SSQ.BytesPerNet, 4*kib, gib).reloads(),
		one("valvemaster.listen", &c.ValveMaster.Listen, parseListen),
		number("valvemaster.sockets", &c.ValveMaster.Sockets, 1, 64),
		number("valvemaster.readers", &c.ValveMaster.Readers, 1, 64),
		size("valvemaster.read_buffer", &c.ValveMaster.ReadBuffer, 4*kib, gib),
		number("valvemaster.max_per_addr", &c.ValveMaster.MaxPerAddr, 0, 65535).reloads(),
		duration("valvemaster.timeout", &c.ValveMaster.Timeout, 6*time.Minute, 24*time.Hour).reloads(),
		number("valvemaster.unproved_rate", &c.ValveMaster.UnprovedRate, 1, conns).reloads(),
		number("valvemaster.unproved_burst", &c.ValveMaster.UnprovedBurst, 1, conns).reloads(),
		number("valvemaster.pages_per_addr", &c.ValveMaster.PagesPerAddr, 0, many).reloads(),
		number("valvemaster.pages_per_net", &c.ValveMaster.PagesPerNet, 0, many).reloads(),
		toggle("dns.enabled", &c.DNS.Enabled),
		one("dns.listen", &c.DNS.Listen, parseListen),
		one("dns.address", &c.DNS.Address, parseAdvertised),
		several("dns.upstreams", &c.DNS.Upstreams, parseUpstream),
		several("dns.allow", &c.DNS.Allow, parsePrefix).reloads(),
		number("dns.rate", &c.DNS.Rate, 1, conns).reloads(),
		number("dns.burst", &c.DNS.Burst, 1, conns).reloads(),
		number("dns.max_forwards", &c.DNS.MaxForwards, 1, 10_000),
		one("gstats.listen", &c.GStats.Listen, parseListen),
		one("cdkey.listen", &c.CDKey.Listen, parseListen),
		one("peerchat.listen", &c.Peerchat.Listen, parseListen),
		one("webservices.listen", &c.WebServices.Listen, parseListen),

		one("games.file", &c.Games.File, parseText).reloads(),
		several("games.domains", &c.Games.Domains, parseDomain),
		one("geoip.file", &c.GeoIP.File, parseText),
	}
}

// reloads marks a key that a running daemon takes over without a restart.
func (k key) reloads() key {
	k.live = true
	return k
}

func one[T any](name string, field *T, parse func(string) (T, error)) key {
	return key{name: name, field: field, set: func(text string) error {
		v, err := parse(text)
		if err == nil {
			*field = v
		}
		return err
	}}
}

// secret is one for values that only the operator may see.
func secret[T any](name string, field *T, parse func(string) (T, error)) key {
	k := one(name, field, parse)
	k.secret = true
	return k
}

// nested is secret for a value that is YAML itself: parts of it may be secrets.
func nested[T any](name string, field *T, parse func(string) (T, error)) key {
	k := secret(name, field, parse)
	k.nested = true
	return k
}

func several[T any](name string, field *[]T, parse func(string) (T, error)) key {
	return key{name: name, list: true, field: field, set: func(text string) error {
		v, err := parse(text)
		if err == nil {
			*field = append(*field, v)
		}
		return err
	}}
}

func number(name string, field *int, low, high int) key {
	k := one(name, field, func(text string) (int, error) { return parseNumber(text, low, high) })
	k.allowed = fmt.Sprintf("%d to %d", low, high)
	return k
}

func size(name string, field *int, low, high int) key {
	k := one(name, field, func(text string) (int, error) { return parseSize(text, low, high) })
	k.allowed = formatSize(low) + " to " + formatSize(high)
	return k
}

func duration(name string, field *time.Duration, low, high time.Duration) key {
	k := one(name, field, func(text string) (time.Duration, error) { return parseDuration(text, low, high) })
	k.allowed = formatDuration(low) + " to " + formatDuration(high)
	return k
}

func toggle(name string, field *bool) key {
	k := one(name, field, parseToggle)
	k.allowed = "true or false"
	return k
}

func choice(name string, field *string, words ...string) key {
	k := one(name, field, func(text string) (string, error) { return parseChoice(text, words) })
	k.allowed = strings.Join(words, ", ")
	return k
}
