package daemon

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/oschwald/maxminddb-golang/v2"
)

// geoIP finds the country of an address in a MaxMind database.
type geoIP struct{ db *maxminddb.Reader }

func openGeoIP(path string) (*geoIP, error) {
	db, err := maxminddb.Open(path)
	if err != nil {
		return nil, fmt.Errorf("geoip.file: %w", err)
	}
	return &geoIP{db}, nil
}

// Close closes the database.
func (g *geoIP) Close() error { return g.db.Close() }

// continents are the region numbers that games filter on, by continent code.
// They are bits of one number in the old protocol; the bits of its finer
// regions cannot be derived from a country database and are never set.
var continents = map[string]int{
	"AF": 32,    // Africa
	"AS": 2048,  // Asia
	"EU": 65536, // Europe
	"NA": 2,     // North America
	"OC": 8192,  // Pacific
	"SA": 16,    // South America
}

// locate returns the country code and the region of an address.
func (g *geoIP) locate(a netip.Addr) (country, region string) {
	var record struct {
		Country struct {
			Code string `maxminddb:"iso_code"`
		} `maxminddb:"country"`
		Continent struct {
			Code string `maxminddb:"code"`
		} `maxminddb:"continent"`
	}
	if err := g.db.Lookup(a).Decode(&record); err != nil {
		return "", ""
	}
	if n, ok := continents[record.Continent.Code]; ok {
		region = strconv.Itoa(n)
	}
	return record.Country.Code, region
}
