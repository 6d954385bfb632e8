package valvemaster

import "strings"

// The regions of the protocol.
const (
	RegionUSEast       byte = 0
	RegionUSWest       byte = 1
	RegionSouthAmerica byte = 2
	RegionEurope       byte = 3
	RegionAsia         byte = 4
	RegionAustralia    byte = 5
	RegionMiddleEast   byte = 6
	RegionAfrica       byte = 7
	// AnyRegion means all regions in a request, and unknown in a heartbeat.
	AnyRegion byte = 255
)

// regions is a set of regions, one bit each.
type regions uint8

const everywhere regions = 0xFF

func (r regions) has(region byte) bool { return region > RegionAfrica || r&(1<<region) != 0 }

// middleEast are the countries that the protocol takes out of Asia.
const middleEast = "AE BH IL IQ IR JO KW LB OM PS QA SA SY TR YE"

// continents are the regions by the continent number in master.Server.Region.
var continents = map[string]regions{
	"2": 1<<RegionUSEast | 1<<RegionUSWest, "16": 1 << RegionSouthAmerica, "65536": 1 << RegionEurope, "2048": 1 << RegionAsia,
	"8192": 1 << RegionAustralia, "32": 1 << RegionAfrica,
}

// regionsOf returns the regions of a server: the one that its operator chose;
// else by country and the continent number in master.Server.Region; else all.
func regionsOf(said byte, country, continent string) regions {
	if said <= RegionAfrica {
		return 1 << said
	}
	if len(country) == 2 && strings.Contains(middleEast, country) {
		return 1 << RegionMiddleEast
	}
	if in, known := continents[continent]; known {
		return in
	}
	return everywhere
}
