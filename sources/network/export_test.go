package network

// Rebind writes the parameters of a statement as the database of an address
// wants them.
func Rebind(address, query string) string {
	d, err := dialectOf(address)
	if err != nil {
		return query
	}
	return d.rebind(query)
}
