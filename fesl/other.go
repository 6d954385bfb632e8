package fesl

import (
	"context"
	"encoding/base64"

	"github.com/respawnd/respawnd/fesl/wire"
)

// country is an entry of the list from which players choose theirs.
type country struct{ name, code string }

// allCountries are those of most players of these games; the list fits in one frame.
var allCountries = []country{
	{"Argentina", "AR"},
	{"Australia", "AU"},
	{"Austria", "AT"},
	{"Belgium", "BE"},
	{"Brazil", "BR"},
	{"Bulgaria", "BG"},
	{"Canada", "CA"},
	{"Chile", "CL"},
	{"China", "CN"},
	{"Croatia", "HR"},
	{"Czech Republic", "CZ"},
	{"Denmark", "DK"},
	{"Finland", "FI"},
	{"France", "FR"},
	{"Germany", "DE"},
	{"Greece", "GR"},
	{"Hungary", "HU"},
	{"India", "IN"},
	{"Ireland", "IE"},
	{"Israel", "IL"},
	{"Italy", "IT"},
	{"Japan", "JP"},
	{"Korea", "KR"},
	{"Mexico", "MX"},
	{"Netherlands", "NL"},
	{"New Zealand", "NZ"},
	{"Norway", "NO"},
	{"Other", "ZZ"},
	{"Poland", "PL"},
	{"Portugal", "PT"},
	{"Romania", "RO"},
	{"Russia", "RU"},
	{"Serbia", "RS"},
	{"Slovakia", "SK"},
	{"South Africa", "ZA"},
	{"Spain", "ES"},
	{"Sweden", "SE"},
	{"Switzerland", "CH"},
	{"Taiwan", "TW"},
	{"Turkey", "TR"},
	{"Ukraine", "UA"},
	{"United Kingdom", "GB"},
	{"United States", "US"},
}

// countries lists countries.
func countries(_ context.Context, _ *request, answer *wire.Text) error {
	const list = "countryList"
	answer.AddNumber(list+".[]", int64(len(allCountries)))
	for i, c := range allCountries {
		entry := wire.Member(list, i)
		answer.Add(entry+".description", c.name)
		answer.Add(entry+".ISOCode", c.code)
	}
	return nil
}

// terms are the rules that a game shows before it makes an account.
func terms(_ context.Context, _ *request, answer *wire.Text) error {
	answer.Add("version", "1")
	answer.Add("tos", "This is a server of players, not of the maker of the game. Its operator keeps your e-mail address, "+
		"your names and your password to sign you in. Use a password that you use nowhere else: the game may send it unprotected.")
	return nil
}

// telemetry names a receiver of the game's reports: none.
func telemetry(_ context.Context, _ *request, answer *wire.Text) error {
	answer.Add("telemetryToken", base64.StdEncoding.EncodeToString([]byte("127.0.0.1,9988,enUS,")))
	answer.Add("enabled", "0")
	answer.Add("filters", "")
	answer.Add("disabled", "1")
	return nil
}
