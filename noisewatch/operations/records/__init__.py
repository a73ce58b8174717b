"""Records of machines: reads documents, recognizes them by their content, and makes them comparable."""
