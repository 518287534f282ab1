"""The MCP server: Redoma's path as tools that an agent calls over the Model Context Protocol."""
