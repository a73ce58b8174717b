"""Records of machines: documents are read, recognized by their content, and made comparable."""
