package api

// Operations returns the method and the path of each operation under /api/v1.
func Operations() [][2]string {
	var all [][2]string
	for _, r := range new(service).routes() {
		all = append(all, [2]string{r.method, r.path})
	}
	return all
}
